import { NUMBERED } from '../../move/moved-tables.ts'

/** The column that PostgreSQL numbers and that this primary key is on; undefined for any other constraint. */
function numberedBy(constraint: string): (typeof NUMBERED)[number] | undefined {
  return NUMBERED.find(({ table }) => constraint === `${table}_pkey`)
}

/** The unique indexes of customers, and what they are called in partitions. */
const OF_CUSTOMERS = /^customers(_\d+)?_(pkey|by_id|organization_id_idx)$/

const NULL_VALUE = '23502'
const REFERRED_TO = '23503'
const TAKEN = '23505'

/** Whether a row was to be inserted whose key is taken, and not because the mirror was given a number twice. */
export function isTaken(error: unknown): boolean {
  return nameIn(error, 'code') === TAKEN && numberedBy(nameIn(error, 'constraint')) === undefined
}

/** Whether that key is the number or the id of a customer, and none that someone added. */
export function isCustomerTaken(error: unknown): boolean {
  return isTaken(error) && OF_CUSTOMERS.test(nameIn(error, 'constraint'))
}

/**
 * What a constraint of the server does not allow, with its fix: someone has added it, or has moved rows without the sequences that number
 * them. It names table and constraint, and never a value of a row. Undefined for any other error.
 */
export function violation(error: unknown): string | undefined {
  const code = nameIn(error, 'code')
  if (!/^23[0-9A-Z]{3}$/.test(code)) return undefined
  const constraint = nameIn(error, 'constraint')
  const numbered = code === TAKEN ? numberedBy(constraint) : undefined
  const said = numbered === undefined ? added(error, code) : sequenceBehind(nameIn(error, 'schema'), numbered)
  return `${said} Nothing of this step was kept.`
}

function added(error: unknown, code: string): string {
  const table = nameIn(error, 'table')
  if (code === NULL_VALUE)
    return `column ${nameIn(error, 'column')} of table ${table}, which someone added, has no default. Give it one, or let it be null.`
  const constraint = `constraint ${nameIn(error, 'constraint')} of table ${table}, which someone added,`
  return code === REFERRED_TO
    ? `${constraint} refers to a row that is to be deleted. Delete the rows there that refer to it, or make the constraint ON DELETE CASCADE.`
    : `${constraint} does not allow a row that is to be written. Drop it.`
}

function sequenceBehind(schema: string, { table, column }: (typeof NUMBERED)[number]): string {
  const name = `${schema}.${table}`
  return (
    `the sequence of ${name}.${column} is behind its rows, as after a move by logical replication, which copies no sequences. Stop the ` +
    `worker and run SELECT setval(pg_get_serial_sequence('${name}', '${column}'), max(${column})) FROM ${name}; the other sequences of ` +
    'the mirror may be behind too.'
  )
}

function nameIn(error: unknown, key: 'code' | 'table' | 'constraint' | 'column' | 'schema'): string {
  const value: unknown = error instanceof Error ? Reflect.get(error, key) : undefined
  return typeof value === 'string' ? value : ''
}
