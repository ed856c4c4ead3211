import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONCURRENCY, SIDE_BY_SIDE } from './groups.ts'
import type { Member } from './members.ts'
import { type Measurement, organizationIds, type Task } from './messages.ts'
import { isCommand, type Starters } from './whole/run-command.ts'
import { files, inDatabases } from './places.ts'
import { createDatabases } from './postgres/databases.ts'
import { type HowToRun, runProgram } from './run-program.ts'
import { createServices, keyOf, type Service } from './service/service.ts'
import { listedDigest, storedRows } from './whole/stored-rows.ts'

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
