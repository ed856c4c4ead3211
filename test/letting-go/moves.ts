import { expect } from 'vitest'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Report } from '../../src/model/report.ts'
import type { Retention } from '../../src/model/run.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { textsIn } from './checks.ts'
import * as m from './model.ts'
import { entryOf, type World } from './model.ts'
import { makeNight } from '../support/alike-nights.ts'
import { backUp, restore } from '../support/backing-up.ts'
import { customerId } from '../support/builders.ts'
import type { Dice } from '../support/dice.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { rowsOf } from '../support/mirror-file.ts'

/** A run of an organization, on a list that was edited since, which may be stopped or fail. */
export async function aNight(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  const { dice } = it
  if (dice.chance(0.8)) m.passTime(service, dice)
  if (service.listed.size === 0) m.passTime(service, dice)
  const { list, odd } = m.listOf(service, dice)
  const ending = {
    ...(dice.chance(0.2) && { stopAfter: 1 + dice.below(3) }),
    ...(dice.chance(0.1) && { failAfter: dice.below(3) }),
    ...(dice.chance(0.2) && { stopHiding: 1 + dice.below(5) }),
  }
  const hides = service.hides
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
  expect(JSON.stringify(report)).not.toMatch(/tok\d/)
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

/** What the mirror must hold after a run: known from the list, and from the mirror only where a run ended early, or went on from one. */
function noteNight(it: World, name: string, report: Report, odd: number | undefined): void {
  const { service, held } = entryOf(it, name)
  const rows = rowsOf(
    it.file,
    'SELECT customers.*, absences.proven FROM customers LEFT JOIN absences USING (organization, row_id) WHERE customers.organization = ? AND removed_at IS NULL',
    name,
  )
  const now = new Map(rows.map((row) => [Number.parseInt(String(row['id']).slice(0, 8), 16), row]))
  for (const n of held.forgotten) now.delete(n)
  if (report.status !== 'complete') {
    if (held.hides !== undefined && isHidingOther(held.hides, service.hides)) held.hides = undefined
    // Some of the list was saved, and nothing may be removed.
    for (const n of service.listed.keys()) {
      const row = now.get(n)
      if (row !== undefined) held.active.add(n)
      if (row?.['missing_since'] === null) held.absent.delete(n)
    }
    return
  }
  held.hides = service.hides
  if (report.resumedFrom !== undefined) {
    held.active = new Set(now.keys())
    held.absent = new Map([...now].flatMap(([n, { proven }]) => (proven === null ? [] : [[n, Number(proven)]])))
    return
  }
  for (const n of held.active) {
    if (service.listed.has(n)) continue
    const times = (held.absent.get(n) ?? 0) + (report.proof === 'proven' ? 1 : 0)
    held.absent.set(n, times)
    const isGone = report.proof === 'settled' || report.reasons.includes('older-list') ? !now.has(n) : times >= it.after
    if (isGone) held.active.delete(n)
  }
  for (const n of [...held.absent.keys()]) if (service.listed.has(n) || !held.active.has(n)) held.absent.delete(n)
  for (const [n, values] of service.listed) {
    if (held.forgotten.has(n)) continue
    // A customer whose record cannot be kept has the values from before, if there are any.
    if (n !== odd || now.has(n)) held.active.add(n)
    if (n !== odd) expect(now.get(n)).toMatchObject(m.stored(values, service.hides))
  }
}

export async function forget(it: World, name: string): Promise<string> {
  const { held, service } = entryOf(it, name)
  const n = service.first + 1 + it.dice.below(m.MOST - 1)
  const asked = { organization: name, id: customerId(n), ...it.clocks }
  const forgotten = await it.withMirror((mirror) => mirror.forgetCustomer(asked).catch(refusal))
  if (typeof forgotten === 'string') return `forget ${name} ${n}: ${forgotten}`
  const erased = await it.withMirror((mirror) => mirror.eraseForgotten(asked.id))
  if (erased !== (onPostgres ? 'released' : 'erased')) throw new Error(`not erased: ${erased}`)
  held.active.delete(n)
  held.absent.delete(n)
  held.forgotten.add(n)
  return `forget ${name} ${n}: ${JSON.stringify(forgotten.deleted)}`
}

export async function readmit(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const n = it.pick([...held.forgotten])
  if (n === undefined) return 'nothing to undo'
  const asked = { organization: name, id: customerId(n), ...it.clocks }
  const error = await it.withMirror((mirror) => mirror.readmitCustomer(asked).catch(refusal))
  if (error === undefined) held.forgotten.delete(n)
  return `undo ${name} ${n}: ${error ?? 'done'}`
}

export async function changePolicy(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  service.hides = it.dice.chance(0.3) ? m.SHOWS_ALL : m.someHiding(it.dice)
  return `policy of ${name}: ${JSON.stringify(service.hides)}`
}

export async function rename(it: World, name: string): Promise<string> {
  const to = `${name}x`
  const renamed = await withOrganizations(it, (o) => o.rename({ from: name, to }, it.clocks))
  if (typeof renamed === 'string') return `rename ${name}: ${renamed}`
  it.model.set(to, entryOf(it, name))
  it.model.delete(name)
  return `rename ${name} to ${to}`
}

export async function retire(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const retired = await withOrganizations(it, (o) => o.retire(name, it.clocks))
  if (typeof retired === 'string') return `retire ${name}: ${retired}`
  held.active.clear()
  held.absent.clear()
  return `retire ${name}: ${retired.removed}`
}

export async function forgetOrganization(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  const done = await withOrganizations(it, (o) => o.forget(name, it.clocks))
  if (done !== true) throw new Error(`not forgotten: ${String(done)}`)
  it.model.delete(name)
  const texts = textsIn(it.file)
  const left = service.sent.filter(({ n, text }) => texts.has(text) || texts.has(customerId(n)))
  if (left.length > 0) throw new Error(`${name} is left: ${JSON.stringify(left)}`)
  return `forget ${name}`
}

export async function backup(it: World): Promise<string> {
  const file = join(dirname(it.file), 'backups', `${it.steps.length}.db`)
  await backUp(it.file, { file, ...it.clocks })
  it.backups.push({ file, model: m.copyOf(it.model) })
  return `backup ${it.backups.length}`
}

export async function restoreOne(it: World): Promise<string> {
  const chosen = it.pick(it.backups)
  if (chosen === undefined) return 'no backup yet'
  const { kept, forgotten: again } = await restore(chosen.file, it.file, it.clocks)
  if (kept !== undefined) rmSync(kept)
  const before = [...it.model].map(([name, { service, held }]) => ({
    name,
    service,
    gone: held.forgotten,
    isWaiting: false,
  }))
  it.model = m.copyOf(chosen.model)
  const forgotten = [...before, ...it.waiting]
  it.waiting = []
  for (const one of forgotten) {
    const { name, service, gone } = one
    const found = [...it.model].find(([, { service: other }]) => other === service)
    // Where the backup has no run that the mirror had, nothing shows that this is the organization under an earlier name.
    const isKnown = found !== undefined && (found[0] === name || isCarried(it, found[0], gone.size))
    const restored = isKnown ? found[1].held : undefined
    if (restored === undefined) it.waiting.push(one)
    for (const n of restored === undefined ? [] : gone) {
      restored?.forgotten.add(n)
      restored?.active.delete(n)
      restored?.absent.delete(n)
    }
  }
  return `restore ${it.backups.indexOf(chosen) + 1}: ${again} forgotten`
}

function isCarried(it: World, name: string, least: number): boolean {
  return rowsOf(it.file, 'SELECT 1 FROM forgotten WHERE organization = ?', name).length >= least
}

async function withOrganizations<Result>(it: World, work: (o: Mirror['organizations']) => Promise<Result>) {
  const { organizations, close } = await openMirror(it.file)
  try {
    return await work(organizations).catch(refusal)
  } finally {
    await close()
  }
}

function refusal(error: unknown): string {
  if (error instanceof Error && /Usage|Leased/.test(error.name)) return error.message
  throw error
}
