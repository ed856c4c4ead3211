import { flushCompileCache } from 'node:module'
import { openMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { changingList, listedSource } from './listed-source.ts'

/**
 * A program for tests that kill it: mirrors a list again and again, a new edition each time, and writes a line when it opens
 * the mirror and after each save. Arguments: the mirror's file and the first edition.
 */
const [, , file = '', edition = '1'] = process.argv

// Killed, it would keep nothing of what was compiled for the next one, which starts in half the time with it.
flushCompileCache()
process.stdout.write('opening\n')
const mirror = await openMirror(file)
for (let current = Number(edition); ; current += 1) {
  const { error } = await mirrorOrganization({
    organization: 'acme',
    source: listedSource(changingList(current)),
    mirror,
    trigger: 'sync',
    scan: 'plain',
    pageSize: 100,
    resumeWithinMs: 0,
    removals: { after: 2, maxShare: 0.1 },
    concurrency: 4,
    now: Date.now,
    monotonicMs: Date.now,
    random: Math.random,
    signal: new AbortController().signal,
    onProgress: () => process.stdout.write('saved\n'),
  })
  if (error !== undefined) throw error
}
