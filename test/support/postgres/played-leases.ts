import { shownMirror } from '../../../src/address/mirror-address.ts'
import { isOurs } from '../../../src/errors/errors.ts'
import type { Start } from '../../../src/model/run.ts'
import type { Mirror, Organizations } from '../../../src/store/mirror.ts'
import { openReader } from '../mirror-reader.ts'
import { LEASE_MS } from '../../../src/store/refusals.ts'

type Moment = { nowMs: number; monotonicMs: number | undefined }

/** When each lease was last taken or renewed, by mirror and organization, by the clocks of the test. */
const renewals = new Map<string, Map<string, Moment>>()

/**
 * A mirror in PostgreSQL for tests that play their own time. The leases there run by the clock of the server, so a lease is made to have
 * expired where another one could take its place and it was not renewed for so long by the clock of the test.
 */
export function withPlayedLeases(mirror: Mirror): Mirror {
  const { file } = mirror
  const note = ({ organization, monotonicMs }: Pick<Start, 'organization' | 'monotonicMs'>, nowMs: number) =>
    void renewalsIn(file).set(organization, { nowMs, monotonicMs: monotonicMs?.() })
  return {
    ...mirror,
    startRun: async (start) => {
      const { organization, nowMs, monotonicMs } = start
      expire(file, { nowMs, monotonicMs: monotonicMs?.() }, organization)
      try {
        const run = await mirror.startRun(start)
        note(start, nowMs)
        return run
      } catch (error) {
        // The run may have been started, and the answer lost.
        if (isOurs(error) && error.code === 'gone') note(start, nowMs)
        throw error
      }
    },
    savePages: (run, pages, nowMs) => (note(run, nowMs), mirror.savePages(run, pages, nowMs)),
    renewLease: (run, nowMs) => (note(run, nowMs), mirror.renewLease(run, nowMs)),
    listUnderway: async (clocks) => (expire(file, clocks, ...renewalsIn(file).keys()), mirror.listUnderway(clocks)),
    forgetCustomer: async (asked) => (expire(file, asked, asked.organization), mirror.forgetCustomer(asked)),
    readmitCustomer: async (asked) => (expire(file, asked, asked.organization), mirror.readmitCustomer(asked)),
  }
}

/** The same for the verbs on whole organizations. */
export function withPlayedLeasesOf(verbs: Organizations, file: string): Organizations {
  return {
    ...verbs,
    rename: async (names, clocks) => (expire(file, clocks, names.from, names.to), verbs.rename(names, clocks)),
    retire: async (organization, clocks) => (expire(file, clocks, organization), verbs.retire(organization, clocks)),
    forget: async (organization, clocks) => (expire(file, clocks, organization), verbs.forget(organization, clocks)),
  }
}

/** Has the leases of these organizations expired that were not renewed for so long. */
function expire(file: string, now: Moment, ...organizations: readonly string[]): void {
  for (const organization of organizations) {
    const renewed = renewalsIn(file).get(organization)
    if (renewed === undefined || msBetween(renewed, now) < LEASE_MS) continue
    const expiring = `UPDATE leases SET expires_at_ms = 0 WHERE organization = ?`
    openReader(file, { isWriting: true }).run(expiring, organization)
    renewalsIn(file).delete(organization)
  }
}

function renewalsIn(address: string): Map<string, Moment> {
  const file = shownMirror(address)
  const found = renewals.get(file) ?? new Map<string, Moment>()
  renewals.set(file, found)
  return found
}

function msBetween(before: Moment, now: Moment): number {
  return before.monotonicMs === undefined || now.monotonicMs === undefined
    ? now.nowMs - before.nowMs
    : now.monotonicMs - before.monotonicMs
}
