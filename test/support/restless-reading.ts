import type { Certificate } from '../../src/scan/scan.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Scan } from '../../src/scan/scan.ts'
import { startOf, type Window, type WindowAnswer, windowKey } from '../../src/scan/window.ts'
import { dice as diceOf, type Dice } from './dice.ts'
import type { Cut, History } from './oracle-of-grades.ts'
import { type ListKind, type Rates, RestlessList, someRates } from './restless-list.ts'

export type Reading = {
  certificate: Certificate
  history: History
  requests: number
  /** Pages of a plain loop at the start. */
  plain: number
  rates: Rates
  interruptions: number
}

/** Reads a list that a number decides, and that changes meanwhile; some readings are interrupted and resumed later. */
export function readRestless(kind: ListKind, seed: number): Reading {
  const dice = diceOf(seed)
  const pageSize = [10, 20, 25, 50, 100][dice.below(5)] ?? 100
  const list = new RestlessList(dice, kind, dice.below(pageSize * 14))
  const rates = someRates(dice)
  const plain = Math.max(1, Math.ceil(list.size / pageSize))
  const since = list.moment
  const cuts: Cut[] = []
  const reader = { list, rates, dice, cuts, parallel: 1 + dice.below(8) }
  let answers: WindowAnswer[] = []
  let scan = listScan({ pageSize })
  let interruptions = dice.chance(0.3) ? 1 + dice.below(2) : 0
  const interrupted = interruptions
  for (; interruptions > 0; interruptions -= 1) {
    answers = [...answers, ...read(scan, reader, 1 + dice.below(2 * plain))]
    if (scan.done) break
    for (let stirs = dice.below(20); stirs > 0; stirs -= 1) list.stir(rates)
    scan = listScan({ pageSize, recalled: recalled(answers) })
  }
  read(scan, reader, Infinity)
  const lived = list.livedSince(since).map(({ serial }) => serial)
  const history = { cuts, lived, moved: list.movedSince(since) }
  return { certificate: scan.certificate(), history, requests: cuts.length, plain, rates, interruptions: interrupted }
}

type Reader = { list: RestlessList; rates: Rates; dice: Dice; cuts: Cut[]; parallel: number }
type Request = { window: Window; answer?: WindowAnswer }

/** Answers what the scan asks for, several windows at once and in any order, until it is done or so many were answered. */
function read(scan: Scan, reader: Reader, most: number): WindowAnswer[] {
  const { dice, parallel } = reader
  const answers: WindowAnswer[] = []
  const open: Request[] = []
  while (!scan.done && answers.length < most) {
    open.push(...scan.next(parallel - open.length).map((window) => ({ window })))
    if (scan.done) break
    const at = dice.below(open.length)
    const request = open[at]
    if (request === undefined) throw new Error('The scan is not done, nothing is under way, and it asks for nothing.')
    request.answer ??= cut(request.window, reader)
    // It was cut from the list now, and arrives after others.
    if (parallel > 1 && dice.chance(0.4)) continue
    open.splice(at, 1)
    answers.push(request.answer)
    scan.read(request.answer)
  }
  return answers
}

function cut(window: Window, { list, rates, cuts }: Reader): WindowAnswer {
  list.stir(rates)
  const shown = list.shown()
  const start = startOf(window)
  const page = shown.slice(start, start + window.size)
  const serials = shown.map(({ serial }) => serial)
  cuts.push({ start, size: window.size, served: serials.slice(start, start + window.size), list: serials })
  const rows = page.map(({ serial, createdSecond }) => ({ id: idOf(serial), createdAt: timeOf(createdSecond) }))
  return { window, rows, total: shown.length, perPage: window.size, beyondEnd: false }
}

/** As a mirror hands them back: the last answer of each window, in the order of their positions. */
function recalled(answers: readonly WindowAnswer[]): WindowAnswer[] {
  const latest = new Map(answers.map((answer) => [windowKey(answer.window), answer]))
  return [...latest.values()].toSorted((one, other) => startOf(one.window) - startOf(other.window))
}

/** In no order. */
function idOf(serial: number): string {
  return (Math.imul(serial, 0x9e_37_79_b1) >>> 0).toString(16).padStart(8, '0')
}

function timeOf(second: number): string {
  const known = TIMES.get(second)
  if (known !== undefined) return known
  const time = new Date(1_600_000_000_000 + second * 1000).toISOString()
  TIMES.set(second, time)
  return time
}

const TIMES = new Map<number, string>()
