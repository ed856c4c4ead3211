import { flushCompileCache } from 'node:module'
import { privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customers } from './builders.ts'
import { listedSource, mirroring } from './listed-source.ts'

/**
 * A program for tests that kill it: brings a mirror to a policy, and writes a line after each step. Arguments: the mirror's file, the
 * number of customers, and the policy as JSON.
 */
const [, , file = '', count = '1', written = '{}'] = process.argv

// Killed, it would keep nothing of what was compiled for the next one, which starts in half the time with it.
flushCompileCache()
const mirror = await openMirror(file)
const applying: typeof mirror = {
  ...mirror,
  applyPrivacy: async (run, nowMs) => {
    const isMore = await mirror.applyPrivacy(run, nowMs)
    process.stdout.write('step\n')
    return isMore
  },
}
const privacy = privacyPolicy(JSON.parse(written))
const source = listedSource(customers(1, Number(count)))
const settings = { scan: 'chain', pageSize: 100, privacy, now: Date.now, monotonicMs: Date.now } as const
process.stdout.write('opened\n')
const { error } = await mirrorOrganization(mirroring(applying, source, settings))
if (error !== undefined) throw error
process.stdout.write('done\n')
await mirror.close()
