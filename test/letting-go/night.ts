import { makeNight } from '../support/alike-nights.ts'
import type { Dice } from '../support/dice.ts'
import type { Retention } from '../../src/model/run.ts'
import type { Report } from '../../src/model/report.ts'
import { rowsOf } from '../support/mirror-file.ts'
import * as m from './model.ts'
import { entryOf, type World } from './world.ts'

/** A run of an organization, on a list that was edited since, which may be stopped or fail. */
export async function aNight(it: World, name: string): Promise<string> {
  const { service, held } = entryOf(it, name)
  const { dice } = it
  if (dice.chance(0.8)) m.passTime(service, dice)
  if (service.listed.size === 0) m.passTime(service, dice)
  const { list, odd } = m.listOf(service, dice)
  const ending = dice.chance(0.2)
    ? { stopAfter: 1 + dice.below(3) }
    : dice.chance(0.1)
      ? { failAfter: dice.below(3) }
      : {}
  const hides = service.hides
  if (isHidingOther(held.hides, hides)) it.followers = []
  const retention = someRetention(dice)
  const told = {
    ...{
      organization: name,
      scan: 'chain' as const,
      resumeWithinMs: dice.chance(0.5) ? -1 : 5 * m.DAY_MS,
      pageSize: 10,
      concurrency: 1 + dice.below(2),
    },
    ...{ removals: { after: it.after, maxShare: 1 }, privacy: m.policyOf(hides) },
    ...(dice.chance(0.6) && { retention }),
  }
  const { report } = await it.withMirror((mirror) => makeNight(mirror, it.day, { list, told, ...ending }))
  noteNight(it, name, report, odd)
  const kept = 'retention' in told ? ` keeps ${JSON.stringify(retention)}` : ''
  const ended = [report.status, report.proof, ...report.reasons, report.resumedFrom].join(' ')
  return `day ${it.day.toFixed(2)} night of ${name}: ${ended} ${JSON.stringify({ ...ending, hides })}${kept}`
}

function someRetention(dice: Dice): Retention {
  const some = (chance: number, days: number) => (dice.chance(chance) ? days * m.DAY_MS : undefined)
  return {
    changesMs: some(0.3, 1 + dice.below(20)),
    resolvedRejectsMs: some(0.5, dice.below(5)),
    runsMs: some(0.5, 1 + dice.below(5)),
    removedCustomersMs: some(0.3, 1 + dice.below(10)),
  }
}

function isHidingOther(one: m.Hiding | undefined, other: m.Hiding): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}

/** What the mirror must hold after a run: known from the list, and from the mirror only where a run ended early. */
function noteNight(it: World, name: string, report: Report, odd: number | undefined): void {
  const { service, held } = entryOf(it, name)
  if (report.status === 'complete' && report.resumedFrom !== undefined) {
    held.hides = service.hides
    adopt(it, name)
    return
  }
  if (report.status === 'complete') {
    held.hides = service.hides
    for (const n of held.active.keys()) if (!service.listed.has(n) || n === odd) held.stale.add(n)
    for (const n of held.active.keys()) {
      if (service.listed.has(n)) continue
      const times = (held.absent.get(n) ?? 0) + (report.proof === 'proven' ? 1 : 0)
      held.absent.set(n, times)
      const isGone =
        report.proof === 'settled' || report.reasons.includes('older-list') ? !isActive(it, name, n) : times >= it.after
      if (isGone) held.active.delete(n)
    }
    for (const n of [...held.absent.keys()]) if (service.listed.has(n) || !held.active.has(n)) held.absent.delete(n)
    for (const [n, values] of service.listed) {
      if (held.forgotten.has(n)) continue
      if (n !== odd) held.active.set(n, values)
      if (n !== odd) held.stale.delete(n)
      // A removed customer whose record cannot be kept returns with the values from before.
      else if (!held.active.has(n)) adopt(it, name, n)
    }
    return
  }
  if (held.hides !== undefined && isHidingOther(held.hides, service.hides)) held.hides = undefined
  // Some of the list was saved, and nothing may be removed.
  if (odd !== undefined && !held.active.has(odd)) adopt(it, name, odd)
  const rows = rowsOf(it.file, 'SELECT id, missing_since, name FROM active_customers WHERE organization = ?', name)
  const now = new Map(rows.map((row) => [Number.parseInt(String(row['id']).slice(0, 8), 16), row]))
  for (const [n, values] of service.listed) {
    if (held.forgotten.has(n) || !now.has(n)) continue
    if (isStored(it, name, n, values)) held.active.set(n, values)
    if (now.get(n)?.['missing_since'] === null) held.absent.delete(n)
  }
}

function isActive(it: World, name: string, n: number): boolean {
  return rowsOf(it.file, 'SELECT 1 FROM active_customers WHERE organization = ? AND id = ?', name, m.idOf(n)).length > 0
}

/** A run that continued another one holds what was read then: any values that were sent, of customers that are not forgotten. */
function adopt(it: World, name: string, only?: number): void {
  const { service, held } = entryOf(it, name)
  if (only === undefined) {
    held.absent.clear()
    held.active = new Map()
  }
  const rows = rowsOf(
    it.file,
    'SELECT customers.*, absences.proven FROM customers LEFT JOIN absences USING (organization, row_id) WHERE customers.organization = ? AND removed_at IS NULL',
    name,
  )
  for (const row of rows) {
    const n = Number.parseInt(String(row['id']).slice(0, 8), 16)
    if (held.forgotten.has(n) || (only ?? n) !== n) continue
    const texts = new Set(Object.values(row))
    const known = service.versions.filter((one) => one.n === n).map(({ values }) => values)
    // Where every value that tells is hidden or lacking, the mirror is not compared with it.
    held.active.set(n, known.findLast((one) => Object.values(one).some((text) => texts.has(text))) ?? {})
    held.stale.add(n)
    if (row['proven'] !== null) held.absent.set(n, Number(row['proven']))
  }
}

/** One of the fields is always shown. */
function isStored(it: World, name: string, n: number, values: m.Values): boolean {
  const [row = {}] = rowsOf(it.file, 'SELECT * FROM customers WHERE organization = ? AND id = ?', name, m.idOf(n))
  const texts = new Set(Object.values(row))
  return Object.values(values).some((text) => texts.has(text))
}
