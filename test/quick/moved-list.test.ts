import { expect, test } from 'vitest'
import { EMPTY_LIST } from '../../src/model/list-as-read.ts'
import { RowSet } from '../../src/model/row-set.ts'
import { QuickScan, RequestBudget } from '../../src/quick/quick-scan.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import { startOf, type Window } from '../../src/scan/window.ts'
import { KnownList as ListBefore, ListRecorder, PlaceIndex } from '../../src/sync/list-as-read.ts'
import { dice as diceOf } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { KnownList } from '../support/known-list.ts'
import { seeds } from '../support/seeds.ts'

const ORDERS = ['serial', 'created asc, id asc', 'created desc, id asc', 'created desc, id desc', 'id asc'] as const

/** Lists of which the order as last read is wrong at a place where it moved, and the numbers of rows agree by chance. */
const WRONG = [1092, 4137, 15583, 17865, 18358]

test('no customer who is listed is gone for certain, however the list moved while it was last read', () => {
  const others = Array.from({ length: seeds(20_000, { every: 500 }) }, (_, seed) => seed)
  const gone = [...WRONG, ...others].map((seed) => ({ seed, ...goneFrom(seed) }))

  expect(gone.filter(({ wrong }) => wrong > 0)).toEqual([])
  expect(gone.reduce((sum, { certain }) => sum + certain, 0)).toBeGreaterThan(gone.length)
})

/** How many customers a quick scan calls gone for certain, and how many of them are listed. The list moved while a scan read it, hours before. */
function goneFrom(seed: number): { certain: number; wrong: number } {
  const dice = diceOf(seed)
  const order = dice.pick([...ORDERS])
  const [size, pageSize] = [30 + dice.below(400), dice.pick([10, 12, 20, 25, 40])]
  const list = new KnownList(dice, { order, size, seed })
  const rate = () => (dice.chance(0.4) ? 0 : dice.next() ** 2 * 0.6)
  const churn = dice.chance(0.3) ? {} : { insert: rate(), delete: rate(), change: rate(), comeBack: rate() / 2 }
  const recorder = new ListRecorder(new ListBefore(EMPTY_LIST, { doubted: new RowSet(), written: new RowSet() }))
  const seen = new Set<number>()
  const answer = (window: Window) => {
    const told = list.answer(window)
    return { ...told, rows: told.rows.map((row) => ({ ...row, rowId: list.find(row.id ?? '')?.n ?? 0 })) }
  }
  const recorded = (window: Window) => {
    const told = answer(window)
    const rowIds = told.rows.map(({ rowId }) => rowId)
    recorder.add({ start: startOf(window), size: rowIds.length }, rowIds)
    for (const rowId of rowIds) seen.add(rowId)
    return told
  }
  const between = () => {
    list.tick += 1
    list.stir(churn)
  }
  drive(new ListScan({ pageSize }), { answer: recorded, between }, { dice, parallel: 1 + dice.below(6) })
  for (let more = dice.below(12); more > 0; more -= 1)
    list.stir({ insert: 0.3, delete: 0.4, comeBack: 0.1, change: 0.2 })
  const { rowIds } = recorder.next(seen.size).columns
  const index = PlaceIndex.over(rowIds)
  const expected = { rowIds, placeOf: (rowId: number) => index.find(rowId) }
  const scan = new QuickScan({ expected, budget: new RequestBudget(200), pageSize, turn: dice.below(9) })
  drive(scan, { answer }, { dice, parallel: 1 + dice.below(4) })
  const { gone, isCertain } = scan.conclusion()
  const certain = gone
    .flatMap((rowId) => list.people[rowId - 1] ?? [])
    .filter(({ id, createdAt }) => isCertain({ id, createdAt: createdAt ?? undefined }))
  return { certain: certain.length, wrong: certain.filter((person) => list.listed.includes(person)).length }
}
