import { cp, open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONCURRENCY, SIDE_BY_SIDE } from './groups.ts'
import type { Member } from './members.ts'
import { type Measurement, organizationIds, type Task } from './messages.ts'
import { isCommand, type Starters } from './whole/run-command.ts'
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
  const yesterday = new Map<string, Promise<string>>()
  const seenFromOutside = createRowCheck()

  async function taskFor(member: Member, file: string): Promise<Task> {
    const { dataset, scan, repeats, concurrency = CONCURRENCY, sideBySide = SIDE_BY_SIDE } = member
    const { origin } = await services.for(dataset)
    const task = { origin, organizations: organizationIds(dataset), file, scan, concurrency, sideBySide }
    return repeats === undefined ? task : { ...task, asked: askedFile(repeats) }
  }

  const askedFile = (name: string) => join(folder, `${name.replaceAll(/\W+/g, '-')}.asked.json`)

  function yesterdaysFile(member: Member): Promise<string> {
    const { nightsBefore = NIGHTS_BEFORE } = member
    const key = `${keyOf(member.dataset)}-${member.program}-${member.scan}-${nightsBefore}`
    const made = yesterday.get(key) ?? makeYesterday(member, join(folder, `yesterday-${key}.db`))
    yesterday.set(key, made)
    return made
  }

  async function makeYesterday(member: Member, file: string): Promise<string> {
    const service = await services.for(member.dataset)
    await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
    const task = await taskFor({ ...member, concurrency: CONCURRENCY }, file)
    for (let night = 0; night < (member.nightsBefore ?? NIGHTS_BEFORE); night += 1) {
      await runProgram(member.program, task, startersOf(member))
    }
    return file
  }

  async function run(member: Member): Promise<Measurement> {
    const file = join(folder, 'measured.db')
    await forget(file)
    if (member.start === 'yesterday') await copyToDisk(await yesterdaysFile(member), file)
    const service = await services.for(member.dataset)
    await service.answer(member.answering)
    const task = await taskFor(member, file)
    const measured = await runProgram(member.program, task, { ...how, ...startersOf(member) })
    if (member.repeats === undefined) await writeFile(askedFile(member.name), JSON.stringify(await service.asked()))
    const measurement = { ...measured, ...(await seenFromOutside(member, task, service)) }
    await forget(file)
    refuseUnexpected(member, measurement)
    return measurement
  }

  return {
    run,
    yesterdaysFile,
    async clear() {
      await services.close()
      for (const file of yesterday.values()) await forget(await file)
      yesterday.clear()
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

/** Waits until the copy is on the disk: what is measured next must not pay for it. */
async function copyToDisk(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true })
  // No limit depends on a tool that keeps a folder, so a few milliseconds do not matter.
  if ((await stat(to)).isDirectory()) return
  const handle = await open(to, 'r+')
  await handle.sync()
  await handle.close()
}

async function forget(file: string): Promise<void> {
  for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name, { recursive: true, force: true })
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
