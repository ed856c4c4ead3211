import { z } from 'zod'
import type { Mirror } from '../../src/model/mirror.ts'
import { startOf, type Window } from '../../src/scan/window.ts'
import type { CustomersPage } from '../../src/source/customers.ts'
import { mirrorOrganization, type Outcome } from '../../src/sync/mirror-organization.ts'
import { aCustomer, aSourcePage, START_MS } from './builders.ts'
import { type Dice, dice as diceOf } from './dice.ts'
import { mirroring, sourceOf } from './listed-source.ts'
import { rowsOf } from './mirror-file.ts'
import type { Cut, History } from './oracle-of-grades.ts'
import { type Listed, type ListKind, type Rates, RestlessList, someRates } from './restless-list.ts'

export type Night = {
  night: number
  outcome: Outcome
  basis: string | undefined
  history: History
  /** Customers that the mirror has as removed although they are listed. */
  wronglyRemoved: number
}

type Tonight = { seed: number; rates: Rates; cuts: Cut[]; stop: AbortController; stopAfter: number }

/**
 * Some nights of a list that a number decides, mirrored with all that the mirror remembers from night to night. The list changes
 * between the nights and while it is read; some runs are stopped and continued.
 */
export async function playRestlessNights(mirror: Mirror, kind: ListKind, seed: number): Promise<Night[]> {
  const dice = diceOf(seed)
  const pageSize = [10, 15, 20, 25][dice.below(4)] ?? 25
  const list = new RestlessList(dice, kind, pageSize + dice.below(pageSize * 10))
  const organization = `${kind.replaceAll(/\W+/g, '-')}-${seed}`
  const concurrency = 1 + dice.below(4)
  const usual = someRates(dice)
  const nights: Night[] = []
  for (let night = 1; night <= 5; night += 1) {
    if (night > 1) passDay(list, dice)
    const rates = dice.chance(0.7) ? usual : someRates(dice)
    const since = list.moment
    const cuts: Cut[] = []
    let nowMs = START_MS + night * DAY_MS
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const stop = new AbortController()
      const tonight = {
        seed,
        rates,
        cuts,
        stop,
        stopAfter: attempt === 1 && dice.chance(0.15) ? 1 + dice.below(8) : Infinity,
      }
      const source = restlessSource(list, tonight)
      const settings = { scan: 'chain', pageSize, concurrency, organization, signal: stop.signal } as const
      const outcome = await mirrorOrganization(mirroring(mirror, source, { ...settings, now: () => (nowMs += 10) }))
      if (outcome.report.status === 'interrupted' && attempt === 1) continue
      const lived = list.livedSince(since).map(({ serial }) => serial)
      const history = { cuts, lived, moved: list.movedSince(since) }
      const basis = await basisOf(mirror, outcome)
      nights.push({ night, outcome, basis, history, wronglyRemoved: wronglyRemoved(mirror, organization, list, seed) })
      break
    }
  }
  return nights
}

function passDay(list: RestlessList, dice: Dice): void {
  const calm = { insert: 0.3, delete: 0.3, change: dice.chance(0.7) ? 2 : 0.1, bulk: dice.chance(0.1) ? 0.1 : 0 }
  for (let stirs = dice.below(20); stirs > 0; stirs -= 1) list.stir(calm)
}

function restlessSource(list: RestlessList, { seed, rates, cuts, stop, stopAfter }: Tonight) {
  let answers = 0
  const readPage = async (window: Window): Promise<CustomersPage> => {
    list.stir(rates)
    answers += 1
    if (answers > stopAfter) stop.abort()
    const shown = list.shown()
    const start = startOf(window)
    const rows = shown.slice(start, start + window.size)
    const serials = shown.map(({ serial }) => serial)
    cuts.push({ start, size: window.size, served: serials.slice(start, start + window.size), list: serials })
    return pageOf(
      window,
      rows.map((row) => recordOf(row, { kind: list.kind, seed })),
      shown.length,
    )
  }
  const search = async (text: string): Promise<CustomersPage> => {
    const wanted = text.toLowerCase()
    const found = list.rows
      .map((row) => recordOf(row, { kind: list.kind, seed }))
      .filter(({ name, username, email }) => [name, username, email].some((value) => mentions(value, wanted)))
    return pageOf({ page: 1, size: 100 }, found.slice(0, 100), found.length)
  }
  return sourceOf(readPage, search)
}

function mentions(value: unknown, wanted: string): boolean {
  return typeof value === 'string' && value.toLowerCase().includes(wanted)
}

function pageOf({ page, size }: Window, records: unknown[], total: number): CustomersPage {
  const lastPage = Math.max(1, Math.ceil(total / size))
  return aSourcePage(page, records, { size, askedSize: size, total, lastPage, beyondEnd: page > lastPage })
}

type Named = { kind: ListKind; seed: number }

/** Only a list by name shows what it is sorted by, and one by creation. */
function recordOf({ serial, key, createdSecond, edition }: Listed, { kind, seed }: Named) {
  return aCustomer(serial, {
    id: idOf(serial, seed),
    name: kind === 'name' ? `Name ${key.toFixed(12)}` : `Name ${(serial * 7919) % 1009}`,
    phone: `+1 555 0100 ${edition}`,
    created_at: new Date(START_MS - 1e9 + createdSecond * 1000).toISOString(),
  })
}

/** In no order, and different in every list. */
function idOf(serial: number, seed: number): string {
  const hex = (value: number, digits: number): string => (value >>> 0).toString(16).padStart(digits, '0')
  return `${hex(Math.imul(serial, 0x9e_37_79_b1), 8)}-0000-4000-8000-${hex(seed, 12)}`
}

function wronglyRemoved(mirror: Mirror, organization: string, list: RestlessList, seed: number): number {
  const listed = new Set(list.rows.map(({ serial }) => idOf(serial, seed)))
  const sql = 'SELECT id FROM customers WHERE organization = ? AND removed_at IS NOT NULL'
  return rowsOf(mirror.file, sql, organization).filter(({ id }) => listed.has(String(id))).length
}

async function basisOf(mirror: Mirror, { report }: Outcome): Promise<string | undefined> {
  const run = report.runId === undefined ? undefined : await mirror.findRun(report.runId)
  return basisSchema.safeParse(run?.certificate).data?.basis
}

const basisSchema = z.object({ basis: z.string().optional() })
const DAY_MS = 86_400_000
