import { expect } from 'vitest'
import type { SentRecord } from './builders.ts'
import { rowsOf, valueOf } from './mirror-file.ts'
import { isThere, openReader } from './mirror-reader.ts'

/** The promises to readers, before any repair. */
export function expectSound(file: string): void {
  if (!isThere(file)) return
  const reader = openReader(file, { isWriting: true })
  try {
    expect(reader.value('PRAGMA integrity_check')).toBe('ok')
    if (reader.value(`SELECT 1 FROM sqlite_schema WHERE name = 'runs'`) === undefined) return
    expect(reader.all('PRAGMA foreign_key_check')).toEqual([])
  } finally {
    reader.close()
  }
  const count = (sql: string) => valueOf(file, `SELECT ${sql}`)
  expect(rowsOf(file, `SELECT id FROM runs WHERE ${NOT_ADDING_UP}`)).toEqual([])
  expect(count('count(*) FROM customers')).toBe(count('coalesce(sum(inserted), 0) FROM runs'))
  expect(rowsOf(file, RUNS_AND_CHANGES_THAT_DIFFER)).toEqual([])
}

/** A run is saved with its rows or not at all, so its numbers and what it left in the other tables always agree. */
const NOT_ADDING_UP = 'received <> inserted + updated + unchanged + duplicates + rejected OR returned > updated'
const RUNS_AND_CHANGES_THAT_DIFFER = `
  SELECT id FROM runs WHERE id > (SELECT min(id) FROM runs WHERE status = 'complete')
  AND (updated <> (SELECT count(*) FROM changes WHERE run_id = runs.id AND change = 'changed')
    OR inserted <> (SELECT count(*) FROM changes WHERE run_id = runs.id AND change = 'added'))`

/** After a run that completed: what the list said, no run under way, and no lease. */
export function expectHolds(file: string, list: readonly SentRecord[]): void {
  // A broken record keeps the last good values of its customer, whenever that was.
  const broken = list.find(({ email }) => typeof email !== 'string' && email !== undefined)?.['id']
  const sent = new Map(list.flatMap(({ id, name }) => (id === undefined || id === broken ? [] : [[id, name]])))
  const stored = rowsOf(file, 'SELECT id, name FROM customers WHERE id <> ? ORDER BY id', broken)
  expect(stored).toEqual([...sent].map(([id, name]) => ({ id, name })))
  expect(valueOf(file, `SELECT count(*) FROM runs WHERE status = 'running'`)).toBe(0)
  expect(valueOf(file, 'SELECT count(*) FROM leases')).toBe(0)
}
