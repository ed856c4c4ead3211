import { createHash } from 'node:crypto'
import { cp, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import * as z from 'zod'
import { CONCURRENCY, type Group, type Member, SIDE_BY_SIDE } from './groups.ts'
import { baseUrlOf, type Dataset, type Measurement, organizationIds, type Task } from './messages.ts'
import { createDatabases, type Places } from './databases.ts'
import type { GroupResult } from './results.ts'
import { type ProgramName, runProgram } from './run-program.ts'
import { type Service, startService } from './service.ts'
import { TEXT_FIELDS } from '../src/model/customer.ts'

/** Nights before the one that is measured: an initial sync, and one more where nothing else is said. */
export const NIGHTS_BEFORE = 2

const MEASURED = 'measured'

/**
 * Where members run: services that are started when they are needed, and files as they were the night before, which `folder` holds;
 * it must be on the disk that is to be measured.
 */
export function createStage(folder: string) {
  const databases = createDatabases()
  const stores = { SQLite: files(folder), PostgreSQL: databases }
  const services = new Map<string, Promise<Service>>()
  const yesterdays = new Map<string, Promise<string>>()
  const listed = new Map<string, Promise<string>>()
  const serviceFor = (dataset: Dataset) => once(services, keyOf(dataset), () => startService(dataset))
  const askedFile = (name: string) => join(folder, `${name.replaceAll(/\W+/g, '-')}.asked.json`)

  async function taskFor(member: Member, file: string): Promise<Task> {
    const { dataset, scan, repeats, concurrency = CONCURRENCY, sideBySide = SIDE_BY_SIDE, awayMs } = member
    const { origin } = await serviceFor(dataset)
    return {
      ...{ origin, organizations: organizationIds(dataset), customers: dataset.customers * dataset.organizations },
      ...{ file: awayMs === undefined ? file : await databases.away(file, awayMs), scan, concurrency, sideBySide },
      ...(repeats !== undefined && { asked: askedFile(repeats) }),
    }
  }

  /** The place that a program left behind the night before, made once. */
  function yesterdayOf(member: Member): Promise<string> {
    const { dataset, program, madeBy = program, scan, nightsBefore = NIGHTS_BEFORE, store = 'SQLite' } = member
    const name = `yesterday_${keyOf(dataset)}_${madeBy.replaceAll('-', '_')}_${scan}_${nightsBefore}_${store.toLowerCase()}`
    return once(yesterdays, name, async () => {
      await (await serviceFor(dataset)).answer({ latencyMs: 0, edition: 'base' })
      const { awayMs: _, ...near } = member
      const task = await taskFor({ ...near, concurrency: CONCURRENCY }, await stores[store].make(name))
      for (let night = 0; night < nightsBefore; night += 1) await runProgram(madeBy, task, member)
      await stores[store].rest(name)
      return name
    })
  }

  /** Runs a member once, and sees to it that it did what its name says. */
  async function run(member: Member): Promise<Measurement> {
    const { store = 'SQLite', start, program, repeats } = member
    const places = stores[store]
    const file =
      start === 'yesterday' ? await places.copy(await yesterdayOf(member), MEASURED) : await places.make(MEASURED)
    const service = await serviceFor(member.dataset)
    await service.answer(member.answering)
    const measured = await runProgram(program, await taskFor(member, file), member)
    if (repeats === undefined) await writeFile(askedFile(member.name), JSON.stringify(await service.asked()))
    const measurement = KEEPS_ROWS.has(program)
      ? { ...measured, ...(await checkedRows(member, file, service)) }
      : measured
    await places.forget(MEASURED)
    refuseUnexpected(member, measurement)
    return measurement
  }

  /** What a whole command did, as the service and its file show it; refuses rows that are not what the service lists. */
  async function checkedRows({ name, program, dataset, answering }: Member, file: string, service: Service) {
    const requests = (await service.asked()).length
    const [organization = ''] = organizationIds(dataset)
    const digest = await once(listed, `${service.origin} ${answering.edition}`, () =>
      listedDigest(service.origin, organization, 2 * dataset.customers),
    )
    const stored = storedRows(file, program)
    if (stored.digest !== digest) throw new Error(`"${name}" does not hold the rows that the service lists.`)
    return { requests, customers: stored.customers, counts: stored.counts }
  }

  return {
    run,
    /** Ends the services and forgets the files, so that the next group finds an idle machine. */
    async clear() {
      // First: a server would outlive this process.
      await databases.close()
      for (const service of services.values()) await (await service).close()
      for (const name of yesterdays.keys()) await stores.SQLite.forget(name)
      for (const made of [services, yesterdays]) made.clear()
    },
  }
}

export type Stage = ReturnType<typeof createStage>

function once<Made>(made: Map<string, Promise<Made>>, name: string, make: () => Promise<Made>): Promise<Made> {
  const kept = made.get(name) ?? make()
  made.set(name, kept)
  return kept
}

function keyOf({ organizations, customers }: Dataset): string {
  return `${organizations}x${customers}`
}

/** Commands whose file is compared with what the service lists. */
const KEEPS_ROWS: ReadonlySet<ProgramName> = new Set(['sync', 'by-hand-node', 'by-hand-python', 'by-hand-go'])

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
  // A floor repeats overlapping windows, and so receives some customers twice; short commands read none.
  const isOther = answering.edition === 'gone' || answering.edition === 'new'
  const isWhole = repeats !== undefined || isOther || customers === undefined || customers === all
  if (!isWhole) refuse(`${customers} customers of ${all}`)
  if ((program === 'mirror' || program === 'sync') && scan === 'chain' && counts['proven'] !== dataset.organizations)
    refuse('it is unproven')
}

/** Called before each run, with which one of how many is next. */
export type OnRun = (next: { group: string; member: string; round: number; runs: number }) => void

/** Runs the members of a group in turns, each once a round, so that whatever disturbs the machine disturbs them all. */
export async function runRounds(group: Group, stage: Stage, runs: number, onRun: OnRun): Promise<GroupResult> {
  const { name, about, members, notes = [] } = group
  const rows = members.map((member) => ({ member, measurements: new Array<Measurement>() }))
  for (const member of members) if (member.warmUp === true) await stage.run(member)
  for (let round = 1; round <= runs; round += 1) {
    for (const { member, measurements } of rows) {
      onRun({ group: name, member: member.name, round, runs })
      measurements.push(await stage.run(member))
    }
  }
  const measured = rows.map(({ member, measurements }) => ({ name: member.name, floors: member.floors, measurements }))
  return { name, about, rows: measured, notes }
}

function files(folder: string): Places {
  const at = (name: string) => join(folder, `${name}.db`)
  const forget = async (name: string) => {
    for (const file of [at(name), `${at(name)}-wal`, `${at(name)}-shm`]) await rm(file, { force: true })
  }
  const make = async (name: string) => {
    await forget(name)
    return at(name)
  }
  return {
    make,
    async copy(from, name) {
      const to = await make(name)
      await cp(at(from), to)
      // What is measured next must not pay for the copy.
      const handle = await open(to, 'r+')
      await handle.sync()
      await handle.close()
      return to
    },
    rest: async () => {},
    forget,
  }
}

/** What a whole command left in its file; `digest` is the same for the same customers with the same fields. */
type Stored = Required<Pick<Measurement, 'customers' | 'counts'>> & { digest: string }

const FIELDS = ['id', ...TEXT_FIELDS] as const

/** Reads a file that a command has closed. Only `sync` counts what became of the customers, in its last run. */
function storedRows(file: string, command: ProgramName): Stored {
  const db = new Database(file, { readonly: true })
  try {
    const table = command === 'sync' ? 'active_customers' : 'customers'
    const select = db.prepare(`SELECT ${FIELDS.join(', ')} FROM ${table} ORDER BY id`)
    const rows = z.array(z.array(z.string().nullable())).parse(select.raw().all())
    return { customers: rows.length, digest: digestOf(rows), counts: command === 'sync' ? lastRun(db) : {} }
  } finally {
    db.close()
  }
}

function lastRun(db: Database.Database): Record<string, number> {
  const counts = 'inserted, updated, unchanged, missing'
  const row = db.prepare(`SELECT ${counts}, proof IS 'proven' AS proven FROM runs ORDER BY id DESC LIMIT 1`).get()
  return z.record(z.string(), z.number()).parse(row)
}

/** The digest of what the service lists now for one organization. */
async function listedDigest(origin: string, organization: string, atMost: number): Promise<string> {
  const address = `${baseUrlOf(origin, organization)}/customers?page=1&per_page=${atMost}`
  const envelope = z.object({ data: z.array(z.record(z.string(), z.string().nullable())) })
  const { data } = envelope.parse(await (await fetch(address)).json())
  const rows = data.map((record) => FIELDS.map((field) => record[field] ?? null))
  // As SQLite compares text, by its bytes: ids are hexadecimal.
  return digestOf(rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

function digestOf(rows: readonly (readonly unknown[])[]): string {
  const hash = createHash('sha256')
  for (const fields of rows) hash.update(`${JSON.stringify(fields)}\n`)
  return hash.digest('hex')
}
