import { HIDDEN_TABLES } from '../hidden-rows.ts'
import { MEMORY_OF_LIST } from '../sql/organization-tables.ts'

/** The tables that hold values of customers, or digests and numbers of them. */
export const HOLDING_TABLES = [...HIDDEN_TABLES, ...MEMORY_OF_LIST, 'windows', 'absences', 'held_removals'] as const
