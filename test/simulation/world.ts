import type { Dispatcher } from 'undici'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import { addsUp, endedWell, type RecordCounts } from '../../src/model/report.ts'
import { type Dice, dice as diceOf } from '../support/dice.ts'
import { openReader, type Reader } from '../support/mirror-reader.ts'
import { countTurns, PlayedTime, wireTo } from '../support/played-wire.ts'
import { Disk, DISK_FAULTS, placeUnder } from './disk.ts'
import { ListedOrganization, SECRETS } from './listed-organization.ts'
import { CALM_NIGHTS, type Fault, type FaultKind } from './plan.ts'
import { type Ended, Program, type Surroundings } from './program.ts'
import { type PlayedJob, PlayedQueue } from './queue.ts'
import { DAY_MS, HOUR_MS } from '../support/builders.ts'

/** The first night; it begins at midnight. */
const FIRST_MS = Date.UTC(2026, 0, 5)
const SCHEDULE = { nights: '0 2 * * *', quick: '0 14 * * *' }
const HOURS = [2, 14] as const

/** What a run meets: a fault of its own, and those of its day. */
type Meeting = { fault: Fault | undefined; dayLong: ReadonlySet<FaultKind>; isCalm: boolean }

type Overtaken = Omit<Meeting, 'dayLong'> & {
  organization: ListedOrganization
  before: { tick: number }
  working: Promise<Ended>
}

export type Played = { log: string[]; untruths: string[] }

/** Plays the nights of a world below `file`: what happens, in order, and what its mirror or a report said that is not so. */
export async function playWorld(world: {
  file: string
  seed: number
  nights: number
  faults: readonly Fault[]
}): Promise<Played> {
  const it = new World(world)
  const putBack = [countTurns(), placeUnder(it.disk)]
  try {
    await it.play()
  } finally {
    it.end()
    for (const end of putBack) end()
  }
  return { log: it.log, untruths: it.untruths }
}

class World {
  readonly log: string[] = []
  readonly untruths: string[] = []
  readonly disk: Disk
  readonly #dice: Dice
  readonly #file: string
  readonly #nights: number
  readonly #faults: readonly Fault[]
  readonly #time: PlayedTime
  readonly #organizations: readonly ListedOrganization[]
  readonly #queue: PlayedQueue
  readonly #surroundings: Surroundings
  #reader: Reader | undefined
  #wire: Pick<Dispatcher, 'dispatch'> | undefined
  /** The runs that were reported to have ended well, which no end of a program may take back. */
  #reported = new Map<number, string>()
  #runs = 0

  constructor({ file, seed, nights, faults }: Parameters<typeof playWorld>[0]) {
    const dice = diceOf(seed)
    this.#dice = dice
    this.#file = file
    this.#nights = nights
    this.#faults = faults
    this.disk = new Disk(file, diceOf(seed ^ 0xd15c))
    this.#time = new PlayedTime(FIRST_MS + dice.below(1000), diceOf(seed ^ 0x71e))
    this.#organizations = Array.from(
      { length: dice.pick([1, 1, 2, 3]) },
      (_, index) => new ListedOrganization(`w${index + 1}`, seed * 8 + index, SCHEDULE),
    )
    const { clocks } = this.#time
    this.#queue = new PlayedQueue(clocks.now)
    this.#surroundings = {
      ...{ file, queue: this.#queue, clocks, isDead: () => this.disk.isDead },
      config: Object.defineProperty(Object(), 'current', {
        get: () => ({ organizations: this.#organizations.map(({ configured }) => configured) }),
      }),
      wire: {
        connections: { dispatch: (asked, handler) => this.#wire?.dispatch(asked, handler) ?? false },
        sleep: this.#time.sleep,
      },
      say: (text) => this.#listen(text),
    }
  }

  async play(): Promise<void> {
    let program = await Program.start(this.#surroundings)
    for (let night = 1; night <= this.#nights; night += 1) {
      const faults = this.#faults.filter((fault) => fault.night === night)
      const isCalm = night > this.#nights - CALM_NIGHTS
      if (night % 2 === 1) this.#backUp()
      if (isCalm) this.#time.setRight()
      for (const hour of HOURS) {
        this.#time.advanceTo(momentOf(night, hour))
        for (const organization of this.#organizations) organization.passHours({ isCalm })
        program = await this.#playHours(program, hour === HOURS[0] ? [...faults] : [], isCalm)
        if (this.untruths.length > 0) return program.close()
        await this.#decide(program, isCalm)
      }
      // Whatever becomes of programs, disk and queue, the runs of a night are made up for in its day.
      const isOnTime = isCalm || !this.#faults.some((fault) => fault.kind === 'clock jumps' && fault.night <= night)
      if (isOnTime && faults.every(({ kind }) => IN_A_RUN.has(kind) || kind === 'queue is away'))
        this.#ask((organization, db) => organization.unreadSince(db, momentOf(night, HOURS[0])))
    }
    this.#ask((organization, db) => organization.untrueAfterCalm(db))
    await program.close()
  }

  #ask(untruthsOf: (organization: ListedOrganization, db: Reader) => string[]): void {
    for (const organization of this.#organizations)
      this.#reading((db) => this.#tell(organization.id, untruthsOf(organization, db)))
  }

  /** The hours after a moment of the schedule: the jobs that come, until none is left for this part of the day. */
  async #playHours(started: Program, faults: Fault[], isCalm: boolean): Promise<Program> {
    const untilMs = this.#time.trueMs + 5 * HOUR_MS
    const dayLong = new Set(faults.map(({ kind }) => kind))
    let program = started
    if (dayLong.has('queue is away')) this.#queue.isAway = true
    await program.lookAtClock()
    while (this.#time.trueMs < untilMs) {
      const job = this.#queue.take()
      if (job !== undefined) {
        const at = faults.findIndex(({ kind }) => IN_A_RUN.has(kind))
        const [fault] = at === -1 ? [] : faults.splice(at, 1)
        program = await this.#run(program, job, { fault, dayLong, isCalm })
        if (this.untruths.length > 0) return program
        continue
      }
      const inMs = (this.#queue.nextMs ?? Infinity) - this.#time.clocks.now()
      this.#time.advanceTo(this.#time.trueMs + Math.min(Math.max(inMs, 1000), HOUR_MS))
      await program.lookAtClock()
      await program.lookForMissed('time')
    }
    if (this.#queue.isAway) {
      this.#queue.isAway = false
      await program.lookForMissed('jobs-lost')
    }
    return program
  }

  /** One run of a job, with a fault in it. Returns the program that goes on, which may be another one. */
  async #run(program: Program, job: PlayedJob, { fault, dayLong, isCalm }: Meeting): Promise<Program> {
    const organization = this.#organizations.find(({ id }) => id === job.data.organization)
    if (organization === undefined) throw new Error(`The world has no organization ${job.data.organization}.`)
    this.#runs += 1
    organization.prepare(this.#runs, dayLong, isCalm)
    const moment = Math.floor((fault?.moment ?? 0) ** 2 * 15)
    const onDisk = DISK_FAULTS.find((each) => each === fault?.kind)
    if (onDisk !== undefined) this.disk.plan(onDisk, moment)
    const answer: Parameters<typeof wireTo>[0] = (asked) => organization.service.answer(asked, this.#time.trueMs)
    let isReplaced = false
    const moved = () => {
      this.#time.pass({ isJumpy: dayLong.has('clock jumps') })
      organization.list.stir(organization.churn)
      if (organization.service.answers < moment) return
      if (fault?.kind === 'stopped') program.stop()
      if (fault?.kind === 'queue forgets') this.#queue.forget()
      if (fault?.kind === 'replaced') isReplaced ||= this.#replaceFile()
    }
    this.#wire = wireTo(answer, moved, this.#dice)
    const before = this.#reading((db) => organization.stateIn(db))
    const working = program.work(job.kind, job)
    const stands = STANDS.has(fault?.kind ?? '') ? program.freezeAfter(moment) : new Promise<never>(() => {})
    const early = await Promise.race([working, stands])
    if (early === undefined) return this.#overtake(program, job, { organization, before, working, fault, isCalm })
    program.thaw()
    this.disk.spare()
    const { run, why, error } = early
    const said = run === undefined ? (why ?? 'no run') : `${run.outcome.report.status} ${run.outcome.report.proof}`
    this.#note(organization.id, `${job.kind} ${said}`, fault, {
      sent: organization.service.answers,
      verdict: run?.verdict.kind,
      code: run?.outcome.report.error?.code,
    })
    if (isReplaced) {
      this.#queue.end(job, error)
      return this.#goOnWithBackup(program, organization, run)
    }
    if (this.disk.isDead) {
      organization.noteUnreported(before)
      const started = await this.#restart(program, job)
      this.#reading((db) => this.#tell(organization.id, organization.untrueAfterEnd(before, db)))
      return started
    }
    if (run !== undefined) {
      const isOnDisk = onDisk !== undefined || run.outcome.report.runId === undefined
      const found = isOnDisk ? [] : this.#reading((db) => organization.untruths(job.kind, run.outcome, { before, db }))
      if (isOnDisk) organization.noteUnreported(before)
      this.#tell(organization.id, found)
      if (fault === undefined && [...dayLong].every((kind) => kind === 'search fails'))
        this.#tell(organization.id, needlessEnd(run))
      this.#remember(run)
    }
    this.#queue.end(job, error)
    if (fault?.kind === 'queue forgets') await program.lookForMissed('jobs-lost')
    return fault?.kind === 'stopped' ? this.#restart(program, undefined) : program
  }

  /** Another program takes over while one stands still, or a second one is started too early. The first must change nothing then. */
  async #overtake(program: Program, job: PlayedJob, overtaken: Overtaken): Promise<Program> {
    const { organization, before, working, fault, isCalm } = overtaken
    organization.noteUnreported(before)
    if (fault?.kind === 'frozen') this.#time.advanceTo(this.#time.trueMs + HOUR_MS / 3)
    this.#queue.takeBack(job)
    const next = await Program.start(this.#surroundings)
    const again = this.#queue.take(organization.id)
    const wire = this.#wire
    const calmly = { fault: undefined, dayLong: new Set<FaultKind>(), isCalm }
    const going = again === undefined ? next : await this.#run(next, again, calmly)
    const held = this.#reading((db) => contentOf(db, organization.id))
    const lastRun = this.#reading((db) => db.value('SELECT max(id) FROM runs'))
    this.#wire = wire
    program.thaw()
    const { run } = await working
    const left = this.#reading((db) => contentOf(db, organization.id))
    const report = run?.outcome.report
    this.#note(organization.id, `${job.kind} overtaken, ${report?.status} ${report?.error?.code}`, fault, {})
    const wasOvertaken = fault?.kind === 'frozen' && (report?.runId ?? 0) < Number(lastRun)
    if (wasOvertaken && held !== left) this.#tell(organization.id, ['a run that was overtaken has changed the mirror'])
    if (fault?.kind === 'second program' && run !== undefined) this.#remember(run)
    await program.close()
    return going
  }

  /** The program is started again, on what the disk has. */
  async #restart(program: Program, job: PlayedJob | undefined): Promise<Program> {
    this.end()
    await program.close().catch(() => {})
    this.disk.recover()
    const started = await Program.start(this.#surroundings)
    if (job !== undefined) this.#queue.takeBack(job)
    this.#reading((db) => {
      const damage = db.value('PRAGMA integrity_check')
      if (damage !== 'ok') this.#tell('disk', [`the mirror is damaged: ${String(damage)}`])
      const told = `SELECT *, status || ' ' || proof AS said FROM runs`
      const runs = db.all<RecordCounts & { id: number; said: string }>(told)
      for (const run of runs) if (!addsUp(run)) this.#tell('disk', [`run ${run.id} does not add up after a restart`])
      const stored = new Map(runs.map(({ id, said }) => [id, said]))
      for (const [id, said] of this.#reported)
        if (stored.get(id) !== said)
          this.#tell('disk', [`run ${id} was reported as ${said} and is ${stored.get(id)} after a restart`])
    })
    await started.lookForMissed('start')
    return started
  }

  #backUp(): void {
    if (this.#faults.some(({ kind }) => kind === 'replaced')) this.disk.backUp()
  }

  #replaceFile(): boolean {
    this.end()
    return this.disk.restore()
  }

  /** A worker ends when its mirror is replaced: a run of it must not seem to have ended well, and the next one goes by what the backup has. */
  async #goOnWithBackup(program: Program, { id }: ListedOrganization, run: Ended['run']): Promise<Program> {
    const status = run?.outcome.report.status
    if (status !== 'failed' && status !== 'waiting')
      this.#tell(id, [`the mirror was replaced during a run, which ended as ${status}`])
    await program.close()
    const lastRun = this.#reading((db) => Number(db.value('SELECT max(id) FROM runs')))
    for (const runId of this.#reported.keys()) if (runId > lastRun) this.#reported.delete(runId)
    for (const organization of this.#organizations) organization.goBackTo(lastRun)
    return this.#restart(program, undefined)
  }

  /** What persons do between two runs, which no loss of power takes back; in calm nights nothing that a run would have to make up for. */
  async #decide({ mirror }: Program, isCalm: boolean): Promise<void> {
    const dice = this.#dice
    const now = { nowMs: this.#time.clocks.now(), monotonicMs: this.#time.trueMs }
    let isDecided = false
    const decide = async (chance: number, decision: () => Promise<unknown>) => {
      const done = dice.chance(chance) ? await decision().catch(() => undefined) : undefined
      isDecided ||= done !== undefined
      return done !== undefined
    }
    for (const { runId } of await mirror.listHeldRemovals())
      if (!(await decide(0.3, () => mirror.discardRemovals(runId))) && !isCalm)
        await decide(0.3, () => mirror.approveRemovals(runId, now.nowMs))
    for (const organization of isCalm ? [] : this.#organizations) {
      const { id, list } = organization
      await decide(0.3, () => mirror.acceptShape(id, now.nowMs))
      await decide(0.03, () => mirror.organizations.retire(id, now))
      if (dice.chance(0.07)) organization.configureAnew()
      const person = list.listed[list.dice.below(list.listed.length)]
      if (person === undefined) continue
      if (!(await decide(0.15, () => mirror.forgetCustomer({ organization: id, id: person.id, ...now })))) continue
      // A backup from before it would bring the customer back.
      this.#backUp()
      list.forget(person)
      this.#note(id, 'forgotten', undefined, { customer: person.n })
    }
    if (isDecided) this.#ask(({ followers }, db) => followers.untruths(db))
  }

  #remember({ outcome: { report } }: NonNullable<Ended['run']>): void {
    if (report.runId !== undefined && endedWell(report))
      this.#reported.set(report.runId, `${report.status} ${report.proof}`)
  }

  #reading<Found>(read: (db: Reader) => Found): Found {
    return read((this.#reader ??= openReader(this.#file)))
  }

  /** Before the files are closed or replaced: the last one that closes them writes the log into the mirror. */
  end(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  #note(id: string, what: string, fault: Fault | undefined, facts: object): void {
    const at = new Date(this.#time.trueMs).toISOString()
    this.log.push([at, id, what, fault?.kind ?? '', JSON.stringify(facts)].join(' | '))
  }

  #tell(id: string, untruths: readonly string[]): void {
    for (const untruth of untruths) this.untruths.push(`${this.log.at(-1)}: ${id}: ${untruth}`)
  }

  #listen(text: string): void {
    const leaked = SECRETS.filter((part) => text.includes(part))
    if (leaked.length > 0) this.#tell('words', [`${leaked.join()} is in ${text}`])
  }
}

function momentOf(night: number, hour: number): number {
  return FIRST_MS + (night - 1) * DAY_MS + hour * HOUR_MS
}

const STANDS: ReadonlySet<string> = new Set(['frozen', 'second program'])
const IN_A_RUN: ReadonlySet<string> = new Set([...DISK_FAULTS, ...STANDS, 'stopped', 'queue forgets', 'replaced'])

/** A run of which at most searches fail does not end as where the service is away. */
function needlessEnd({ outcome: { report } }: NonNullable<Ended['run']>): string[] {
  const isAway = factsOfCode(report.error?.code ?? '').from === 'outage'
  return isAway ? [`the run ended ${report.status} (${report.error?.code}) although only searches could fail`] : []
}

/** What readers see of an organization, without how old it is by their clock. */
function contentOf(db: Reader, organization: string): string {
  const fresh = 'SELECT read_as_of, proven_as_of, active, missing, removed, held FROM freshness WHERE organization = ?'
  const tables = ['customers', 'changes', 'rejects'].map((table) => `SELECT * FROM ${table} WHERE organization = ?`)
  return JSON.stringify([...tables, fresh].map((rows) => db.all(rows, organization)))
}
