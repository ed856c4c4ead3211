import type { Ending } from '../../src/run.ts'
import type { Mirror } from '../../src/store.ts'
import Database from 'better-sqlite3'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import type { Report } from '../../src/report.ts'
import { anEnding, aPage, START_MS } from './builders.ts'
import { temporaryFolder } from './temp-folder.ts'

/** A row as seen by a reader with only SQLite. */
export type Row = Record<string, unknown>

const PUBLIC_TABLES = ['runs', 'customers', 'changes', 'rejects', 'leases']

/** The path of a mirror that does not exist yet. */
export function aMirrorFile(): string {
  return join(temporaryFolder(), 'customers.db')
}

/** An open mirror, closed when the test ends: a new one, or the one at `file`, which is made there if there is none. */
export async function aMirror(file?: string): Promise<Mirror> {
  const mirror = await openMirror(file ?? (await aNewMirrorFile()))
  onTestFinished(() => mirror.close())
  return mirror
}

/** The path of a mirror as it is made. To apply every migration anew took five times as long. */
async function aNewMirrorFile(): Promise<string> {
  const file = aMirrorFile()
  writeFileSync(file, await (newMirror ??= makeMirror()), { mode: 0o600 })
  return file
}

let newMirror: Promise<Buffer> | undefined

/** The bytes of a mirror that was just made, without its key: each copy makes one of its own. */
async function makeMirror(): Promise<Buffer> {
  const file = aMirrorFile()
  await (await openMirror(file)).close()
  tamper(file, 'DELETE FROM fingerprint_key')
  return readFileSync(file)
}

/** The rows of a query, from another connection, like any reader. */
export function rowsOf(file: string, sql: string, ...parameters: unknown[]): Row[] {
  return withReader(file, (db) => db.prepare<unknown[], Row>(sql).all(...parameters))
}

/** The first column of the first row of a query over the file. */
export function valueOf(file: string, sql: string, ...parameters: unknown[]): unknown {
  return withReader(file, (db) =>
    db
      .prepare(sql)
      .pluck()
      .get(...parameters),
  )
}

/** Changes the file through another connection, without the mirror. */
export function tamper(file: string, sql: string, ...parameters: unknown[]): void {
  const db = new Database(file, { fileMustExist: true })
  try {
    db.prepare(sql).run(...parameters)
  } finally {
    db.close()
  }
}

/** All contents of the file, table by table. */
export function dump(file: string, tables: readonly string[] = PUBLIC_TABLES): Record<string, Row[]> {
  return Object.fromEntries(tables.map((table) => [table, rowsOf(file, `SELECT * FROM ${table} ORDER BY rowid`)]))
}

/** One whole run that received these pages. */
export async function mirrorPages(
  mirror: Mirror,
  pages: readonly (readonly unknown[])[],
  { organization = 'acme', atMs = START_MS, ending = {}, isQuick }: RunOptions = {},
): Promise<Report> {
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: atMs, isQuick })
  for (const [index, records] of pages.entries()) await mirror.savePages(run, [aPage(index + 1, records)], atMs)
  return mirror.finishRun(run, anEnding(ending), atMs)
}

type RunOptions = { organization?: string; atMs?: number; ending?: Partial<Ending>; isQuick?: boolean | undefined }

/** What `read` finds in the file, over one connection. */
export function withReader<Result>(file: string, read: (db: Database.Database) => Result): Result {
  const db = new Database(file, { readonly: true, fileMustExist: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
