import { createHash } from 'node:crypto'
import { cp, open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import * as z from 'zod'
import { CONCURRENCY, SIDE_BY_SIDE } from './groups.ts'
import type { Group, Member } from './members.ts'
import { baseUrlOf, type Measurement, organizationIds, type Task } from './messages.ts'
import { createDatabases, type Databases } from './postgres/databases.ts'
import type { GroupResult } from './results.ts'
import { type CommandName, type HowToRun, isCommand, runProgram, type Starters } from './run-program.ts'
import { createServices, keyOf, type Service } from './service/service.ts'
import { TEXT_FIELDS } from '../src/model/customer.ts'

/** Where members run: services that are started when they are needed, and files as they were the night before. */
export type Stage = {
  /** Runs a member once, and sees to it that it did what its name says. */
  run(member: Member): Promise<Measurement>
  /** The file this member's program left behind the night before. */
  yesterdaysFile(member: Member): Promise<string>
  /** Ends the services and forgets the files, so that the next group finds an idle machine. */
  clear(): Promise<void>
}

/** Nights before the one that is measured: an initial sync, and one more where nothing else is said. */
export const NIGHTS_BEFORE = 2

/** `folder` holds the files; it must be on the disk that is to be measured. */
export function createStage(folder: string, how: HowToRun): Stage {
  const services = createServices()
  const databases = createDatabases()
  const stores = { SQLite: files(folder), PostgreSQL: inDatabases(databases) }
  const yesterdays = createYesterdays(makeYesterday)
  const seenFromOutside = createRowCheck()

  async function taskFor(member: Member, file: string): Promise<Task> {
    const { dataset, scan, repeats, concurrency = CONCURRENCY, sideBySide = SIDE_BY_SIDE, awayMs } = member
    const { origin } = await services.for(dataset)
    const at = awayMs === undefined ? file : await databases.away(file, awayMs)
    const task = { origin, organizations: organizationIds(dataset), file: at, scan, concurrency, sideBySide }
    return repeats === undefined ? task : { ...task, asked: askedFile(repeats) }
  }

  const askedFile = (name: string) => join(folder, `${name.replaceAll(/\W+/g, '-')}.asked.json`)

  async function makeYesterday(member: Member, name: string): Promise<Yesterday> {
    const service = await services.for(member.dataset)
    await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
    const places = stores[member.store ?? 'SQLite']
    const place = await places.make(name)
    const { awayMs: _, ...near } = member
    const task = await taskFor({ ...near, concurrency: CONCURRENCY }, place)
    for (let night = 0; night < (member.nightsBefore ?? NIGHTS_BEFORE); night += 1) {
      await runProgram(member.program, task, startersOf(member))
    }
    await places.rest(name)
    return { place, forget: () => places.forget(name), copy: (to) => places.copy(name, to) }
  }

  async function run(member: Member): Promise<Measurement> {
    const places = stores[member.store ?? 'SQLite']
    const file =
      member.start === 'yesterday' ? await (await yesterdays.of(member)).copy(MEASURED) : await places.make(MEASURED)
    const service = await services.for(member.dataset)
    await service.answer(member.answering)
    const task = await taskFor(member, file)
    const measured = await runProgram(member.program, task, { ...how, ...startersOf(member) })
    if (member.repeats === undefined) await writeFile(askedFile(member.name), JSON.stringify(await service.asked()))
    const measurement = { ...measured, ...(await seenFromOutside(member, task, service)) }
    await places.forget(MEASURED)
    refuseUnexpected(member, measurement)
    return measurement
  }

  return {
    run,
    yesterdaysFile: async (member) => (await yesterdays.of(member)).place,
    async clear() {
      // First: a server would outlive this process.
      await databases.close()
      await services.close()
      await yesterdays.clear()
    },
  }
}

/** What a program left behind the night before. */
type Yesterday = { place: string; copy: (name: string) => Promise<string>; forget: () => Promise<void> }

const MEASURED = 'measured'

/** Makes what programs leave behind, each once. */
function createYesterdays(make: (member: Member, name: string) => Promise<Yesterday>) {
  const made = new Map<string, Promise<Yesterday>>()
  return {
    of(member: Member): Promise<Yesterday> {
      const { nightsBefore = NIGHTS_BEFORE, program, scan, store = 'SQLite' } = member
      const name = `yesterday-${keyOf(member.dataset)}-${program}-${scan}-${nightsBefore}-${store}`
      const yesterday = made.get(name) ?? make(member, name)
      made.set(name, yesterday)
      return yesterday
    },
    async clear() {
      for (const yesterday of made.values()) await (await yesterday).forget()
      made.clear()
    },
  }
}

/** What a whole command did, as the service and its file show it; refuses rows that are not what the service lists. */
function createRowCheck() {
  const listed = new Map<string, Promise<string>>()
  return async ({ name, program, dataset, answering }: Member, { organizations, file }: Task, service: Service) => {
    if (!isCommand(program)) return {}
    const requests = (await service.asked()).length
    const key = `${service.origin} ${answering.edition}`
    const digest = listed.get(key) ?? listedDigest(service.origin, organizations[0] ?? '', 2 * dataset.customers)
    listed.set(key, digest)
    const stored = storedRows(file, program)
    if (stored.digest !== (await digest)) throw new Error(`"${name}" does not hold the rows that the service lists.`)
    return { requests, customers: stored.customers, counts: stored.counts }
  }
}

function startersOf({ node, python }: Member): Starters {
  return { node, python }
}

/** A benchmark of something that went wrong would be worse than none. */
function refuseUnexpected(member: Member, { counts = {}, customers }: Measurement): void {
  const { name, dataset, answering, expect = {}, scan, program, repeats } = member
  const all = dataset.organizations * dataset.customers
  const refuse = (what: string): never => {
    throw new Error(`"${name}" did not do what is to be measured: ${what}.`)
  }
  for (const [what, [from, to]] of Object.entries(expect)) {
    const share = (counts[what] ?? 0) / all
    if (share < from || share > to) refuse(`${what} ${counts[what]} of ${all}`)
  }
  // A floor repeats overlapping windows, and so receives some customers twice.
  const isOther = answering.edition === 'gone' || answering.edition === 'new'
  const isWhole = repeats !== undefined || isOther || customers === all
  if (!isWhole) refuse(`${customers} customers of ${all}`)
  if ((program === 'mirror' || program === 'sync') && scan === 'chain' && counts['proven'] !== dataset.organizations)
    refuse('it is unproven')
}

/** Called before each run, with which one of how many is next. */
export type OnRun = (next: { group: string; member: string; round: number; runs: number }) => void

/** Runs the members of a group in turns, each once a round, so that whatever disturbs the machine disturbs them all. */
export async function runRounds(group: Group, stage: Stage, runs: number, onRun: OnRun): Promise<GroupResult> {
  const rows = group.members.map((member) => ({ member, measurements: new Array<Measurement>() }))
  const warming = group.members.filter(({ warmUp }) => warmUp === true)
  for (const member of warming) await stage.run(member)
  for (let round = 1; round <= runs; round += 1) {
    for (const { member, measurements } of rows) {
      onRun({ group: group.name, member: member.name, round, runs })
      measurements.push(await stage.run(member))
    }
  }
  const measured = rows.map(({ member: { name, floors }, measurements }) => ({ name, floors, measurements }))
  const { name, about, notes } = group
  return { name, about, rows: measured, ...(notes !== undefined && { notes }) }
}

/** Where programs keep what they write: in files, or in databases of a server. */
type Places = {
  /** An empty place. */
  make(name: string): Promise<string>
  /** A copy of a place that was made, on the disk before it is used. */
  copy(from: string, name: string): Promise<string>
  /** What happens to a place between two nights. */
  rest(name: string): Promise<void>
  forget(name: string): Promise<void>
}

function files(folder: string): Places {
  const at = (name: string) => join(folder, `${name}.db`)
  const forget = async (name: string) => {
    for (const file of [at(name), `${at(name)}-wal`, `${at(name)}-shm`])
      await rm(file, { recursive: true, force: true })
  }
  const make = async (name: string) => {
    await forget(name)
    return at(name)
  }
  return {
    make,
    async copy(from, name) {
      const to = await make(name)
      await copyToDisk(at(from), to)
      return to
    },
    rest: async () => {},
    forget,
  }
}

/** They end with their server. */
function inDatabases(databases: Databases): Places {
  const named = (name: string) => name.toLowerCase().replaceAll(/\W+/g, '_')
  return {
    make: (name) => databases.make(named(name)),
    copy: (from, name) => databases.copy(named(from), named(name)),
    rest: (name) => databases.rest(named(name)),
    forget: async () => {},
  }
}

/** Waits until the copy is on the disk: what is measured next must not pay for it. */
async function copyToDisk(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true })
  // No limit depends on a tool that keeps a folder, so a few milliseconds do not matter.
  if ((await stat(to)).isDirectory()) return
  const handle = await open(to, 'r+')
  await handle.sync()
  await handle.close()
}

/** What a whole command left in its file; `digest` is the same for the same customers with the same fields. */
export type Stored = Required<Pick<Measurement, 'customers' | 'counts'>> & { digest: string }

const FIELDS = ['id', ...TEXT_FIELDS] as const

/** Reads a file that a command has closed. Only `sync` counts what became of the customers, in its last run. */
export function storedRows(file: string, command: CommandName): Stored {
  const db = new Database(file, { readonly: true })
  try {
    const table = command === 'sync' ? 'active_customers' : 'customers'
    const rows = z.array(row).parse(
      db
        .prepare(`SELECT ${FIELDS.join(', ')} FROM ${table} ORDER BY id`)
        .raw()
        .all(),
    )
    return { customers: rows.length, digest: digestOf(rows), counts: command === 'sync' ? lastRun(db) : {} }
  } finally {
    db.close()
  }
}

/** The digest of what the service lists now for one organization. */
export async function listedDigest(origin: string, organization: string, atMost: number): Promise<string> {
  const address = `${baseUrlOf(origin, organization)}/customers?page=1&per_page=${atMost}`
  const { data } = envelope.parse(await (await fetch(address)).json())
  const rows = data.map((record) => FIELDS.map((field) => record[field] ?? null))
  // As SQLite compares text, by its bytes: ids are hexadecimal.
  return digestOf(rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

function lastRun(db: Database.Database): Record<string, number> {
  const columns = 'inserted, updated, unchanged, missing, proof'
  const { proof, ...counts } = run.parse(db.prepare(`SELECT ${columns} FROM runs ORDER BY id DESC LIMIT 1`).get())
  return { ...counts, proven: proof === 'proven' ? 1 : 0 }
}

function digestOf(rows: readonly (readonly unknown[])[]): string {
  const hash = createHash('sha256')
  for (const fields of rows) hash.update(`${JSON.stringify(fields)}\n`)
  return hash.digest('hex')
}

const row = z.array(z.string().nullable())
const envelope = z.object({ data: z.array(z.record(z.string(), z.string().nullable())) })
const run = z.object({
  ...{ inserted: z.number(), updated: z.number(), unchanged: z.number(), missing: z.number() },
  proof: z.string().nullable(),
})
