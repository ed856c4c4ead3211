import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import type { Dice } from '../support/dice.ts'

/** What happens at a commit, the program is killed before or after it, or the power fails, or the disk refuses it; or it is full at a statement. */
export const ENDS = ['killed before', 'killed after', 'power lost before', 'power lost after'] as const
export const DISK_FAULTS = [...ENDS, ...(['full', 'input/output error', 'full at a statement'] as const)]
type DiskFault = (typeof DISK_FAULTS)[number]

/** The program has ended: nothing that it asks for happens any more. */
export class Killed extends Error {
  override name = 'Killed' as const
}

type Plan = { fault: DiskFault; times: number }

/** So many statements write in a transaction, at least. */
const STATEMENTS = 3

/** The disk below the mirror of a world, one at a time. It knows what SQLite has flushed: a power loss takes or tears all else. */
export class Disk {
  readonly #file: string
  readonly #backup: string
  readonly #dice: Dice
  #plan: Plan | undefined
  #written: Database.Statement | undefined
  /** The bytes of the log, from its beginning, that are on the disk whatever happens. */
  #flushedBytes = 0
  /** What the disk holds once the program is dead. */
  #left: { file: Buffer; log: Buffer } | undefined

  constructor(file: string, dice: Dice) {
    this.#file = file
    this.#backup = `${file}-backup`
    this.#dice = dice
  }

  /** Has this happen at the commit after so many others, or at a statement about there. */
  plan(fault: DiskFault, commits: number): void {
    const isAtStatement = fault === 'full at a statement'
    this.#plan = { fault, times: isAtStatement ? commits * STATEMENTS + this.#dice.below(STATEMENTS) : commits }
  }

  /** Has nothing happen any more that was planned and did not come. */
  spare(): void {
    this.#plan = undefined
  }

  /** Makes a backup of the mirror as it is now. */
  backUp(): void {
    rmSync(this.#backup, { force: true })
    const db = new Database(this.#file)
    db.prepare('VACUUM INTO ?').run(this.#backup)
    db.close()
  }

  /** Has a person put the backup in the place of the mirror, once, under a program that has it open. Returns whether that was so. */
  restore(): boolean {
    const isThere = existsSync(this.#backup)
    if (isThere) renameSync(this.#backup, this.#file)
    return isThere
  }

  get isDead(): boolean {
    return this.#left !== undefined
  }

  exec(db: Database.Database, words: string, run: () => void): void {
    if (words !== 'COMMIT' || db.name !== this.#file) return run()
    const met = this.#meets()
    if (met === 'full') throw full()
    if (met === 'input/output error') throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE')
    if (met?.endsWith('before') === true) this.#die(met)
    const isFlushed = Number(db.pragma('synchronous', { simple: true })) >= 2
    run()
    this.#flushedBytes = isFlushed ? this.#logBytes : Math.min(this.#flushedBytes, this.#logBytes)
    if (met?.endsWith('after') === true) this.#die(met)
  }

  /** What a statement that writes meets, however many rows in turn. A full disk also ends its transaction. */
  write(statement: Database.Statement): void {
    const { database: db } = statement
    if (db.name !== this.#file || !db.inTransaction || statement === this.#written) return
    this.#written = statement
    if (this.#meets({ atStatement: true }) === undefined) return
    db.exec('ROLLBACK')
    throw full()
  }

  /** What the end of a transaction on a server meets: it is refused, and undone, or its answer is lost once it was done. */
  async commit(run: () => Promise<unknown>, undo: () => Promise<unknown>): Promise<unknown> {
    const met = this.#meets()
    if (met === undefined) return run()
    await (met === 'full' ? undo() : run())
    throw met === 'full'
      ? Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' })
      : new Error('Connection terminated unexpectedly')
  }

  /** The files as a program finds them that is started after the end of the last one, which must have closed them. */
  recover(): void {
    const left = this.#left
    this.#left = undefined
    this.#plan = undefined
    this.#flushedBytes = left?.log.length ?? 0
    if (left === undefined) return
    for (const ending of ['-wal', '-shm']) rmSync(this.#file + ending, { force: true })
    writeFileSync(this.#file, left.file, { mode: 0o600 })
    if (left.log.length > 0) writeFileSync(`${this.#file}-wal`, left.log, { mode: 0o600 })
  }

  #meets({ atStatement } = { atStatement: false }): DiskFault | undefined {
    const plan = this.#plan
    if (plan === undefined || this.isDead || atStatement !== (plan.fault === 'full at a statement') || plan.times-- > 0)
      return undefined
    this.#plan = undefined
    return plan.fault
  }

  #die(fault: DiskFault): never {
    const log = existsSync(`${this.#file}-wal`) ? readFileSync(`${this.#file}-wal`) : Buffer.alloc(0)
    this.#left = { file: readFileSync(this.#file), log: fault.startsWith('power') ? this.#torn(log) : log }
    throw new Killed(fault)
  }

  /** The log without some of what was not flushed, and sometimes with other bytes at its end. */
  #torn(log: Buffer): Buffer {
    const loose = log.length - Math.min(this.#flushedBytes, log.length)
    const kept = log.subarray(0, log.length - this.#dice.pick([loose, this.#dice.below(loose + 1), 0]))
    const torn = Buffer.from(kept)
    if (kept.length > this.#flushedBytes && this.#dice.chance(0.3))
      torn.fill(this.#dice.below(256), Math.max(this.#flushedBytes, kept.length - this.#dice.below(4096)))
    return torn
  }

  get #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }
}

function full(): Error {
  return new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
}

/** Has the transactions of this process go through a disk, those on a server as well. Returns a function that ends that. */
export function placeUnder(disk: Disk): () => void {
  // Each is called on the database or the client that it was called on.
  // oxlint-disable typescript/unbound-method
  const { exec } = Database.prototype
  const { query } = Client.prototype
  // oxlint-enable typescript/unbound-method
  const statements: { run: Function } = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1'))
  const { run: write } = statements
  statements.run = function (this: Database.Statement, ...values: unknown[]): unknown {
    disk.write(this)
    return Reflect.apply(write, this, values)
  }
  Database.prototype.exec = function (this: Database.Database, words: string) {
    disk.exec(this, words, () => exec.call(this, words))
    return this
  }
  const asked = function (this: Client, ...args: [unknown, ...unknown[]]): unknown {
    const run = (...sent: unknown[]) => Reflect.apply(query, this, sent)
    const { text } = Object(args[0])
    const commit = () => run(...args)
    return text === 'COMMIT' ? disk.commit(commit, () => run('ROLLBACK')) : commit()
  }
  Object.assign(Client.prototype, { query: asked })
  return () => {
    Object.assign(Database.prototype, { exec })
    Object.assign(Client.prototype, { query })
    statements.run = write
  }
}
