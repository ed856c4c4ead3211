import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aCustomer, MINUTE_MS, type SentRecord, START_MS } from '../support/builders.ts'
import { type Dice, dice } from '../support/dice.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { searchedSource } from '../support/mirrored-sandbox.ts'
import { seeds } from '../support/seeds.ts'

/** What happens to a list, step by step: `night` and `quick` are runs, of which one world leaves out the latter. */
function* days(chance: Dice): Generator<{ list: readonly SentRecord[]; run: 'night' | 'quick' }> {
  const isByName = chance.chance(0.5)
  let made = 100 + chance.below(150)
  let list = Array.from({ length: made }, (_, index) => aCustomer(index + 1))
  if (isByName) list = list.toSorted(() => chance.next() - 0.5)
  const away: SentRecord[] = []
  const steps = {
    insert: () => {
      made += 1
      list.splice(isByName ? chance.below(list.length + 1) : list.length, 0, aCustomer(made))
    },
    delete: () => void away.push(...list.splice(chance.below(list.length), 1)),
    change: () => {
      const place = chance.below(list.length)
      const [before = {}] = list.splice(place, 1)
      const after = { ...before, name: `Changed ${chance.below(1e6)}` }
      list.splice(isByName ? chance.below(list.length + 1) : place, 0, after)
    },
    comeBack: () => {
      const [back] = away.splice(0, 1)
      if (back !== undefined && isByName) list.splice(chance.below(list.length + 1), 0, back)
    },
  }
  const kinds = Object.values(steps)
  yield { list: [...list], run: 'night' }
  for (let night = 0; night < 4; night += 1) {
    for (let quick = chance.below(4); quick > 0; quick -= 1) {
      for (let step = chance.below(5); step > 0; step -= 1) kinds[chance.below(kinds.length)]?.()
      yield { list: [...list], run: 'quick' }
    }
    yield { list: [...list], run: 'night' }
  }
}

async function play(seed: number, leftOut: 'quick' | undefined): Promise<{ mirror: Mirror; proofs: string[] }> {
  const mirror = await aMirror()
  const proofs: string[] = []
  let hours = 0
  for (const { list, run } of days(dice(seed))) {
    hours += 1
    if (run === leftOut) continue
    const settings: Partial<Mirroring> = { scan: 'chain', pageSize: 25, now: clockAt(hours) }
    const quick = run === 'quick' ? { requestLimit: { requests: 4 + (seed % 30) } } : {}
    const { report } = await mirrorOrganization(
      mirroring(mirror, searchedSource({ shown: list }).source, { ...settings, ...quick }),
    )
    if (run === 'quick') expectQuick(report, { seed, mirror, list })
    else proofs.push(`${report.status} ${report.proof}`)
  }
  return { mirror, proofs }
}

function clockAt(hours: number): () => number {
  return () => START_MS + hours * 60 * MINUTE_MS
}

type Played = { seed: number; mirror: Mirror; list: readonly SentRecord[] }

/** A quick run removes no customer, and each of whom it says that they left is not listed: the list stood still meanwhile. */
function expectQuick(report: { status: string; removed: number }, { seed, mirror, list }: Played): void {
  expect(report, `seed ${seed}`).toMatchObject({ status: 'partial', removed: 0 })
  const marked = rowsOf(
    mirror.file,
    `SELECT customers.id FROM customers JOIN runs ON runs.id = (SELECT MAX(id) FROM runs)
     WHERE missing_since = runs.finished_at`,
  )
  const listed = new Set(list.map(({ id }) => id))
  expect(
    marked.filter(({ id }) => listed.has(String(id))),
    `seed ${seed}`,
  ).toEqual([])
}

/** The customers, as the mirror has them. One that has left may have been read once more, by a quick run, with a later name. */
function stateOf({ file }: Mirror, ids?: ReadonlySet<unknown>) {
  const rows = rowsOf(
    file,
    `SELECT id, iif(missing_since IS NULL, name, NULL) AS name, email, is_active, missing_since IS NOT NULL AS missing, removed_at IS NOT NULL AS removed,
       coalesce(proven, 0) AS proven, coalesce(scans, 0) AS scans
     FROM customers LEFT JOIN absences USING (row_id) ORDER BY id`,
  )
  return ids === undefined ? rows : rows.filter(({ id }) => ids.has(id))
}

test('nights are as if no quick run had been between them', async () => {
  for (let seed = 1; seed <= seeds(80, { least: 2, every: 40 }); seed += 1) {
    const alone = await play(seed, 'quick')
    const both = await play(seed, undefined)

    const known = stateOf(alone.mirror)
    expect(both.proofs, `seed ${seed}`).toEqual(alone.proofs)
    expect(stateOf(both.mirror, new Set(known.map(({ id }) => id))), `seed ${seed}`).toEqual(known)
  }
})
