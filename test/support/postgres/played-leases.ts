import { shownMirror } from '../../../src/address/mirror-address.ts'
import { isOurs } from '../../../src/errors/errors.ts'
import type { Mirror, Organizations } from '../../../src/store/mirror.ts'
import { openReader } from '../mirror-reader.ts'
import { LEASE_MS } from '../../../src/store/refusals.ts'

type Moment = { nowMs: number; monotonicMs: number | undefined }

/** The lease of a run, when it was last taken or renewed. */
type Renewal = Moment & { hasExpired?: boolean }

/** By mirror and organization, by the clocks of the test. */
const renewals = new Map<string, Map<string, Renewal>>()

/**
 * A mirror in PostgreSQL for tests that play their own time. The leases there run by the clock of the server, so a lease is made to have
 * expired where another one could take its place and it was not renewed for so long by the clock of the test.
 */
export function withPlayedLeases(mirror: Mirror): Mirror {
  const { file } = mirror
  const note = (organization: string, { nowMs, monotonicMs }: Moment) =>
    void renewalsIn(file).set(organization, { nowMs, monotonicMs })
  const age = (organization: string, moment: Moment) => expire(file, organization, moment)
  return {
    ...mirror,
    startRun: async (start) => {
      const moment = { nowMs: start.nowMs, monotonicMs: start.monotonicMs?.() }
      age(start.organization, moment)
      try {
        const run = await mirror.startRun(start)
        note(start.organization, moment)
        return run
      } catch (error) {
        // The run may have been started, and the answer lost.
        if (isOurs(error) && error.code === 'gone') note(start.organization, moment)
        throw error
      }
    },
    savePages: (run, pages, nowMs) => {
      note(run.organization, { nowMs, monotonicMs: run.monotonicMs?.() })
      return mirror.savePages(run, pages, nowMs)
    },
    renewLease: (run, nowMs) => {
      note(run.organization, { nowMs, monotonicMs: run.monotonicMs?.() })
      return mirror.renewLease(run, nowMs)
    },
    listUnderway: async (clocks) => {
      for (const organization of renewalsIn(file).keys()) age(organization, clocks)
      return mirror.listUnderway(clocks)
    },
    forgetCustomer: async (asked) => (age(asked.organization, asked), mirror.forgetCustomer(asked)),
    readmitCustomer: async (asked) => (age(asked.organization, asked), mirror.readmitCustomer(asked)),
  }
}

/** The same for the verbs on whole organizations. */
export function withPlayedLeasesOf(organizations: Organizations, file: string): Organizations {
  return {
    ...organizations,
    rename: async (names, clocks) => {
      for (const name of [names.from, names.to]) expire(file, name, clocks)
      return organizations.rename(names, clocks)
    },
    retire: async (organization, clocks) => {
      expire(file, organization, clocks)
      return organizations.retire(organization, clocks)
    },
    forget: async (organization, clocks) => {
      expire(file, organization, clocks)
      return organizations.forget(organization, clocks)
    },
  }
}

/** Has the lease of an organization expired, if it was not renewed for so long. */
function expire(file: string, organization: string, moment: Moment): void {
  const renewal = renewalsIn(file).get(organization)
  if (renewal === undefined || renewal.hasExpired === true || msBetween(renewal, moment) < LEASE_MS) return
  const expiring = `UPDATE leases SET expires_at_ms = 0 WHERE organization = ?`
  openReader(file, { isWriting: true }).run(expiring, organization)
  renewal.hasExpired = true
}

function renewalsIn(address: string): Map<string, Renewal> {
  const file = shownMirror(address)
  const found = renewals.get(file) ?? new Map<string, Renewal>()
  renewals.set(file, found)
  return found
}

function msBetween(before: Moment, now: Moment): number {
  return before.monotonicMs === undefined || now.monotonicMs === undefined
    ? now.nowMs - before.nowMs
    : now.monotonicMs - before.monotonicMs
}
