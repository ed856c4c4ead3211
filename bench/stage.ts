import { cp, open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Member } from './groups.ts'
import { CONCURRENCY } from './groups.ts'
import { type Dataset, type Measurement, organizationIds, type Task } from './messages.ts'
import { type HowToRun, runProgram } from './run-program.ts'
import { type Service, startService } from './service.ts'

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
  const services = new Map<string, Promise<Service>>()
  const yesterday = new Map<string, Promise<string>>()

  function serviceFor(dataset: Dataset): Promise<Service> {
    const key = keyOf(dataset)
    const started = services.get(key) ?? startService(dataset)
    services.set(key, started)
    return started
  }

  async function taskFor(member: Member, file: string): Promise<Task> {
    const { dataset, scan, repeats, concurrency = CONCURRENCY } = member
    const { origin } = await serviceFor(dataset)
    const task = { origin, organizations: organizationIds(dataset), file, scan, concurrency }
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
    const service = await serviceFor(member.dataset)
    await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
    for (let night = 0; night < (member.nightsBefore ?? NIGHTS_BEFORE); night += 1) {
      await runProgram(member.program, await taskFor({ ...member, concurrency: CONCURRENCY }, file), {
        python: member.python,
      })
    }
    return file
  }

  async function run(member: Member): Promise<Measurement> {
    const file = join(folder, 'measured.db')
    await forget(file)
    if (member.start === 'yesterday') await copyToDisk(await yesterdaysFile(member), file)
    const service = await serviceFor(member.dataset)
    await service.answer(member.answering)
    const measurement = await runProgram(member.program, await taskFor(member, file), { ...how, python: member.python })
    if (member.repeats === undefined) await writeFile(askedFile(member.name), JSON.stringify(await service.asked()))
    await forget(file)
    refuseUnexpected(member, measurement)
    return measurement
  }

  return {
    run,
    yesterdaysFile,
    async clear() {
      for (const service of services.values()) await (await service).close()
      for (const file of yesterday.values()) await forget(await file)
      services.clear()
      yesterday.clear()
    },
  }
}

function keyOf({ organizations, customers }: Dataset): string {
  return `${organizations}x${customers}`
}

/** Waits until the copy is on the disk: what is measured next must not pay for it. */
async function copyToDisk(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true })
  // A tool that keeps a folder is not timed against anybody to the millisecond.
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
  if (program === 'mirror' && scan === 'chain' && counts['proven'] !== dataset.organizations) refuse('it is unproven')
}
