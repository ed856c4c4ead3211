import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openOrganizations } from '../../src/store/mirror.ts'
import type { Organizations } from '../../src/model/organizations.ts'
import { backUp, restore } from '../support/backing-up.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { textsIn } from './checks.ts'
import { followerRuns } from './followers.ts'
import * as m from './model.ts'
import { entryOf, type World } from './world.ts'

export async function forget(it: World, name: string): Promise<string> {
  const { held, service } = entryOf(it, name)
  const n = service.first + 1 + it.dice.below(m.MOST - 1)
  const asked = { organization: name, id: m.idOf(n), nowMs: it.nowMs, monotonicMs: it.nowMs }
  const forgotten = await it.withMirror((mirror) => mirror.forgetCustomer(asked).catch(refusal))
  if (typeof forgotten === 'string') return `forget ${name} ${n}: ${forgotten}`
  const erased = await it.withMirror((mirror) => mirror.eraseForgotten(asked.id))
  if (erased !== (onPostgres ? 'released' : 'erased')) throw new Error(`not erased: ${erased}`)
  held.active.delete(n)
  held.absent.delete(n)
  held.forgotten.add(n)
  deleteDownstream(it, (row) => row['organization'] === name && row['id'] === m.idOf(n))
  return `forget ${name} ${n}: ${JSON.stringify(forgotten.deleted)}`
}

export async function readmit(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const n = it.pick([...held.forgotten])
  if (n === undefined) return 'nothing to undo'
  const asked = { organization: name, id: m.idOf(n), nowMs: it.nowMs, monotonicMs: it.nowMs }
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
  const renamed = await withOrganizations(it, (o) =>
    o.rename({ from: name, to }, { nowMs: it.nowMs, monotonicMs: it.nowMs }),
  )
  if (typeof renamed === 'string') return `rename ${name}: ${renamed}`
  it.model.set(to, entryOf(it, name))
  it.model.delete(name)
  for (const follower of it.followers)
    followerRuns(follower, (row) => (row['organization'] === name ? { ...row, organization: to } : row))
  return `rename ${name} to ${to}`
}

export async function retire(it: World, name: string): Promise<string> {
  const { held } = entryOf(it, name)
  const retired = await withOrganizations(it, (o) => o.retire(name, { nowMs: it.nowMs, monotonicMs: it.nowMs }))
  if (typeof retired === 'string') return `retire ${name}: ${retired}`
  held.active.clear()
  held.absent.clear()
  return `retire ${name}: ${retired.removed}`
}

export async function forgetOrganization(it: World, name: string): Promise<string> {
  const { service } = entryOf(it, name)
  const done = await withOrganizations(it, (o) => o.forget(name, { nowMs: it.nowMs, monotonicMs: it.nowMs }))
  if (done !== true) throw new Error(`not forgotten: ${String(done)}`)
  it.model.delete(name)
  deleteDownstream(it, (row) => row['organization'] === name)
  const texts = textsIn(it.file)
  const left = service.sent.filter(({ n, text }) => texts.has(text) || texts.has(m.idOf(n)))
  if (left.length > 0) throw new Error(`${name} is left: ${JSON.stringify(left)}`)
  return `forget ${name}`
}

export async function backup(it: World): Promise<string> {
  const file = join(dirname(it.file), 'backups', `${it.steps.length}.db`)
  await backUp(it.file, { file, nowMs: it.nowMs })
  it.backups.push({ file, model: m.copyOf(it.model) })
  return `backup ${it.backups.length}`
}

export async function restoreOne(it: World): Promise<string> {
  const chosen = it.pick(it.backups)
  if (chosen === undefined) return 'no backup yet'
  const { feedGoesBack, kept, forgotten: again } = await restore(chosen.file, it.file, { nowMs: it.nowMs })
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
  if (feedGoesBack) it.followers = []
  return `restore ${it.backups.indexOf(chosen) + 1}: ${feedGoesBack}, ${again} forgotten`
}

function isCarried(it: World, name: string, least: number): boolean {
  return rowsOf(it.file, 'SELECT 1 FROM forgotten WHERE organization = ?', name).length >= least
}

async function withOrganizations<Result>(it: World, work: (o: Organizations) => Promise<Result>) {
  const organizations = await openOrganizations(it.file)
  try {
    return await work(organizations).catch(refusal)
  } finally {
    await organizations.close()
  }
}

function refusal(error: unknown): string {
  if (error instanceof Error && /Usage|Leased/.test(error.name)) return error.message
  throw error
}

function deleteDownstream(it: World, which: (row: Record<string, unknown>) => boolean): void {
  for (const follower of it.followers) followerRuns(follower, (row) => (which(row) ? undefined : row))
}
