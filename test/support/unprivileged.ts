import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { customers } from './builders.ts'
import { mirrorPages } from './mirror-file.ts'
import { asPlainUser, type Ended, startCli } from './run-cli.ts'
import { temporaryFolder } from './temp-folder.ts'

/** Options to run the program as a user who owns nothing; undefined where there is none who reaches the program. */
export const OTHER_USER = asPlainUser()

/** A mirror of five customers in a folder that others may look into. */
export async function aMirrorForOthers(): Promise<string> {
  const folder = join(temporaryFolder(), 'data')
  chmodSync(dirname(folder), 0o755)
  mkdirSync(folder)
  const file = join(folder, 'a mirror?.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
  return file
}

/** All users may read the files of this folder from now on, and write nothing. */
export function makeReadOnly(folder: string): void {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444)
  chmodSync(folder, 0o555)
  onTestFinished(() => chmodSync(folder, 0o755))
}

/** Runs a command as a user who owns nothing, and expects that everything in the folder stays as it is. */
export async function runAsOther(args: readonly string[], folder: string): Promise<Ended> {
  const before = contentsOf(folder)
  const ended = await startCli(args, { cwd: folder, env: { TMPDIR: aPlaceForOthers() }, ...OTHER_USER }).ended
  expect(contentsOf(folder)).toEqual(before)
  expect(readdirSync(place)).toEqual([])
  return ended
}

let place: string

/** A folder for temporary files that every user may write. */
function aPlaceForOthers(): string {
  place = join(temporaryFolder(), 'temporary')
  chmodSync(dirname(place), 0o755)
  mkdirSync(place)
  chmodSync(place, 0o777)
  return place
}

function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

/** Counts the active customers. */
export const COUNT = 'SELECT COUNT(*) AS number FROM active_customers'

/** A program that has the mirror open, with a journal that every user may read. */
export function aWriter(file: string): Database.Database {
  const writer = new Database(file, { fileMustExist: true })
  onTestFinished(() => void writer.close())
  chmodSync(file, 0o644)
  return writer
}
