import { join } from 'node:path'
import type { Published, PublishPlan } from '../../src/copies/publish-plan.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { staleCopies as staleNow } from '../../src/copies/build-copy.ts'
import { inMirrorFile } from '../../src/store/sqlite/open-to-read.ts'
import { recordedIn } from '../../src/copies/organizations.ts'
import { publishCopies } from '../../src/copies/publish.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customers } from './builders.ts'
import { aPlayedMirror, fileAfter, tamper, temporaryFolder } from './mirror-file.ts'
import { message } from './worker-log.ts'

/** A plan for a copy in a folder that does not exist yet. */
export function aPlan(mirror: string, overrides: Partial<PublishPlan> = {}): PublishPlan {
  const file = join(temporaryFolder(), 'copies', 'readers.db')
  return { mirror, file, withoutPersonalData: false, organizations: [], lockWaitMs: 1000, ...overrides }
}

/** The same with a copy for each organization. */
export function aSplitPlan(mirror: string, overrides: Partial<PublishPlan> = {}): PublishPlan {
  const plan = aPlan(mirror)
  return { ...plan, file: plan.file.replace(/\.db$/, '-{organization}.db'), ...overrides }
}

/** Publishes, and fails where anything was not published. */
export function publishAll(plan: PublishPlan): Published {
  const published = publishCopies(plan)
  if (published.failed.length > 0) throw new Error(published.failed.map((failure) => failure.message).join('\n'))
  return published
}

/** Three nights: acme's 1 changes twice, 2 is removed, 3 is missing, 31 comes late; globex has a reject and a held removal. */
export const aMirrorOfNights = fileAfter(async (mirror) => {
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 0, [aCustomer(101), { id: 'no-uuid', name: 'Rejected Person' }], { organization: 'globex' })
  const changed = aCustomer(1, { name: 'Renamed Person', language: 'fr' })
  await night(mirror, 1, [changed, ...customers(3, 31)])
  await night(mirror, 2, [{ ...changed, email: 'other@example.com' }, ...customers(4, 31)])
  tamper(mirror.file, `INSERT INTO horizons (organization, feed_seq) VALUES ('acme', 1)`)
  tamper(
    mirror.file,
    `INSERT INTO held_rows SELECT organization, row_id, last_run_id, updated_at, 0 FROM customers WHERE organization = 'globex'`,
  )
})

/** Whether the tests may give files to others. */
export const isRoot = process.getuid?.() === 0

export const aSmallMirror = fileAfter((mirror) => night(mirror, 0, customers(1, 20)))

/** An open mirror of the same five customers in acme and in globex. */
export function aMirrorOfTwo(): Promise<Mirror> {
  return aPlayedMirror(fiveInTwo)
}

async function fiveInTwo(mirror: Mirror): Promise<void> {
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 5), { organization })
}

/** Waits of a worker that publishes at once. */
export const SOON = { publishLookMs: 20, publishQuietMs: 200, publishLatestMs: 3_600_000, publishRestMs: 100 }

export const published = message('copy published')

export const staleCopies = (plan: PublishPlan) => staleNow(plan, inMirrorFile(plan.mirror, recordedIn))
