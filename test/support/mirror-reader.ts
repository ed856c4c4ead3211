import { existsSync, readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isPostgres } from '../../src/address/mirror-address.ts'
import { POSTGRES_USER } from './mirror-choice.ts'
import { statementsOn } from './postgres/statement.ts'

/** A row as SQLite has it: times and JSON are text, truth is 0 or 1. */
export type Row = Record<string, unknown>

/** Another program at a mirror, in SQLite or PostgreSQL, whose statements are written for SQLite. */
export type Reader = {
  all<Found = Row>(sql: string, ...parameters: unknown[]): Found[]
  /** The first column of the first row. */
  value(sql: string, ...parameters: unknown[]): unknown
  /** The number of rows written, by a reader that may. */
  run(sql: string, ...parameters: unknown[]): number
  close(): void
}

/** Opens the mirror at an address to read, or to change it without the mirror's own code. */
export function openReader(address: string, { isWriting = false } = {}): Reader {
  return isPostgres(address) ? statementsOn(address, { isWriting }) : readerInSqlite(address, isWriting)
}

/** The address of a mirror for another process: `Mirror.file` names no user. */
export function addressOf(file: string): string {
  return isPostgres(file) ? file.replace('://127', `://${POSTGRES_USER}@127`) : file
}

/** All that is stored at an address, one character a byte: the files of SQLite, or the values of every table and the samples of them. */
export function storedText(address: string): string {
  if (!isPostgres(address))
    return ['', '-wal', '-shm', '-journal']
      .filter((ending) => existsSync(address + ending))
      .map((ending) => readFileSync(address + ending, 'latin1'))
      .join('\n')
  const reader = openReader(address)
  const tables = reader.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`).map(({ name }) => String(name))
  const rows = tables.flatMap((table) => reader.all<{ row: string }>(`SELECT ${table}::text AS row FROM ${table}`))
  const samples = reader.all<{ row: string }>(
    'SELECT pg_stats::text AS row FROM pg_stats WHERE schemaname = current_schema()',
  )
  return Buffer.from([...rows, ...samples].map(({ row }) => row).join('\n')).toString('latin1')
}

function readerInSqlite(file: string, isWriting: boolean): Reader {
  const db = new Database(file, { readonly: !isWriting, fileMustExist: true })
  return {
    all: <Found>(sql: string, ...parameters: unknown[]) => db.prepare<unknown[], Found>(sql).all(...parameters),
    value: (sql, ...parameters) => Object.values(Object(db.prepare(sql).get(...parameters)))[0],
    run: (sql, ...parameters) => db.prepare(sql).run(...parameters).changes,
    close: () => void db.close(),
  }
}
