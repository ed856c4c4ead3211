import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { isPostgres } from '../../src/address/mirror-address.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import type { Report } from '../../src/model/report.ts'
import type { Ending } from '../../src/model/run.ts'
import { anEnding, aPage, customers, START_MS } from './builders.ts'
import { onPostgres } from './mirror-choice.ts'
import { openReader, type Reader, type Row } from './mirror-reader.ts'
import { aPostgresMirror } from './postgres/statement.ts'
import { withPlayedLeases } from './postgres/played-leases.ts'

export type { Row } from './mirror-reader.ts'

const PUBLIC_TABLES = ['runs', 'customers', 'changes', 'rejects', 'leases']

/** One place for all, whatever environment a command line is run in meanwhile: a file can be renamed from one folder to another. */
const PLACE = tmpdir()

/** A private empty folder of the running test, removed when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(PLACE, 'customer-mirror-'))
  onTestFinished(() => {
    // A process that was just ended may still write there.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return folder
}

/** The address of a mirror that does not exist yet: the path of a file, or a schema where the tests run on PostgreSQL. */
export function aMirrorFile(): string {
  return onPostgres ? aPostgresMirror() : aSqliteFile()
}

function aSqliteFile(): string {
  return join(temporaryFolder(), 'customers.db')
}

/** An open mirror, closed when the test ends: a new one, or the one at `file`, which is made there if there is none. */
export async function aMirror(file?: string): Promise<Mirror> {
  const mirror = await openMirror(file ?? (onPostgres ? aPostgresMirror() : await aPlayedFile(withoutKey)))
  onTestFinished(() => mirror.close())
  return isPostgres(mirror.file) ? withPlayedLeases(mirror) : mirror
}

/** What was just made, to copy: that is there sooner than another one. Each copy makes a key of its own. */
const withoutKey: Play = async ({ file }) => tamper(file, 'DELETE FROM fingerprint_key')

/** An open mirror in which `play` was played: where mirrors are files, once in this process for each `key`, and then copied. */
export async function aPlayedMirror(play: Play, key: unknown = play): Promise<Mirror> {
  if (!onPostgres) return aMirror(await aPlayedFile(play, aSqliteFile(), key))
  const mirror = await aMirror()
  await play(mirror)
  return mirror
}

/** A mirror in a file, in which `play` was played once in this process, and then closed. */
export async function aPlayedFile(play: Play, file = aSqliteFile(), key: unknown = play): Promise<string> {
  const bytes = played.get(key) ?? bytesAfter(play)
  played.set(key, bytes)
  writeFileSync(file, await bytes, { mode: 0o600 })
  return file
}

/** A builder of such files, at a path if one is named. */
export const fileAfter = (play: Play) => (file?: string) => aPlayedFile(play, file)

/** Five customers of acme. */
export const aMirrorOfFive = fileAfter((mirror) => mirrorPages(mirror, [customers(1, 5)]))

type Play = (mirror: Mirror) => Promise<unknown>
const played = new Map<unknown, Promise<Buffer>>()

async function bytesAfter(play: Play): Promise<Buffer> {
  const mirror = await openMirror(aSqliteFile())
  await play(mirror)
  await mirror.close()
  return readFileSync(mirror.file)
}

export function rowsOf(file: string, sql: string, ...parameters: unknown[]): Row[] {
  return withReader(file, (reader) => reader.all(sql, ...parameters))
}

export function valueOf(file: string, sql: string, ...parameters: unknown[]): unknown {
  return withReader(file, (reader) => reader.value(sql, ...parameters))
}

/** Changes the file through another connection, without the mirror. */
export function tamper(file: string, sql: string, ...parameters: unknown[]): void {
  withReader(file, (reader) => reader.run(sql, ...parameters), true)
}

export function dump(file: string, tables: readonly string[] = PUBLIC_TABLES): Record<string, Row[]> {
  return withReader(file, (reader) =>
    Object.fromEntries(tables.map((table) => [table, reader.all(`SELECT * FROM ${table} ORDER BY rowid`)])),
  )
}

export async function mirrorPages(
  mirror: Mirror,
  pages: readonly (readonly unknown[])[],
  { organization = 'acme', atMs = START_MS, ending = {}, isPartial }: RunOptions = {},
): Promise<Report> {
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: atMs, isPartial })
  for (const [index, records] of pages.entries()) await mirror.savePages(run, [aPage(index + 1, records)], atMs)
  return mirror.finishRun(run, anEnding(ending), atMs)
}

type RunOptions = { organization?: string; atMs?: number; ending?: Partial<Ending>; isPartial?: boolean | undefined }

export function withReader<Result>(file: string, read: (reader: Reader) => Result, isWriting = false): Result {
  const reader = openReader(file, { isWriting })
  try {
    return read(reader)
  } finally {
    reader.close()
  }
}
