import { MEMORY_OF_LIST } from './organization-tables.ts'

/** The tables that a run reads or writes, except the memory of the list. */
const REHEARSED = [
  'runs',
  'customers',
  'absences',
  'rejects',
  'held_removals',
  'privacy_policies',
  'forgotten_keys',
  'forgotten',
]

/** The tables that a dry run needs a copy of, each after those that it refers to. A full one reads every record, and needs no list. */
export function rehearsedTables({ withLists = false } = {}): string[] {
  return withLists ? [...REHEARSED, ...MEMORY_OF_LIST] : REHEARSED
}
