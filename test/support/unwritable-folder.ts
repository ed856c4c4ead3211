import Database from 'better-sqlite3'
import { chmodSync } from 'node:fs'
import { onTestFinished } from 'vitest'

/** Counts the active customers. */
export const COUNT = 'SELECT COUNT(*) AS number FROM active_customers'

/** A program that has the mirror open, with a journal that every user may read. */
export function aWriter(file: string): Database.Database {
  const writer = new Database(file, { fileMustExist: true })
  onTestFinished(() => void writer.close())
  chmodSync(file, 0o644)
  return writer
}
