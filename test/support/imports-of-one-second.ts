import { chainScan } from '../../src/scan/chain-scan.ts'
import type { Window } from '../../src/scan/window/window.ts'
import { dice } from './dice.ts'
import { drive } from './drive-scan.ts'
import { type ListOrder, SimulatedList } from './simulated-list.ts'

type Import = { first: number; rows: number }

type Reading = { size: number; imports: readonly Import[]; order?: ListOrder }

/** Reads a list in which the rows of each import share a second, and something happens just before each answer. */
export function read(
  { size, imports, order = 'ties asc' }: Reading,
  before: (list: SimulatedList, answer: number) => void = () => {},
) {
  const luck = dice(1)
  const createdSecondOf = (serial: number) =>
    imports.find(({ first, rows }) => serial >= first && serial < first + rows)?.first ?? serial
  const list = new SimulatedList(luck, { size, order, createdSecondOf })
  const scan = chainScan()
  let answers = 0
  const service = { answer: (window: Window) => list.answer(window), between: () => before(list, (answers += 1)) }
  const { ids, requests } = drive(scan, service, { dice: luck, parallel: 4 })
  return { certificate: scan.certificate(), requests, lost: list.survivors().filter((id) => !ids.has(id)).length }
}
