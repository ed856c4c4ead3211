import { type Fault, isOurs, MirrorUnusable } from '../../errors/errors.ts'
import { connectionsTaken, mirrorFault, tlsFailure } from '../../errors/faults.ts'
import { NUMBERED } from '../schema/schema.ts'
import { unreadableIn } from './sql.ts'
import { CONNECTIONS } from './postgres-connections.ts'

/** The classes of SQLSTATEs, and of what the system and the driver report, by `code: message`. The first that fits holds. */
const CLASSES: readonly [pattern: RegExp, fault: Fault | 'replaced'][] = [
  [/^(53100|53400|58030|ENOSPC)/, 'full'],
  // A standby that the primary server has overtaken.
  [/^40001: .*conflict with recovery/, 'busy'],
  // A pooler has this code for all that it refuses, and for what passes: a server that restarts, or a lost connection to it.
  [/^08P01: .*(no such|unsupported|not allowed|auth|password|rejected|required|not exist)/i, 'denied'],
  // One that takes no writes is refused when it is opened: later it is a standby to which the address leads for a while.
  [/^(53|57P|25006|25P0[34]|08)/, 'gone'],
  [/^(40|55P03|57014)/, 'busy'],
  // What PGOPTIONS and PGREPLICATION ask for is refused when the connection is made.
  [
    /^(42601: invalid command-line|42704: unrecognized configuration|22023: .*"replication"|0A000: .*WAL sender)/,
    'denied',
  ],
  [/^(28|3D|42501|55000: cannot connect)/, 'denied'],
  [/^(42P01|3F000)/, 'replaced'],
  [/^(42P07|42710|42723|42703|54000|22|23|P0|55000|0A000|0L|2F|38|39|44)/, 'foreign'],
  [/^(XX|58)/, 'damaged'],
  [/^(ENOENT|EACCES|EPERM)/, 'denied'],
  [/^(E[A-Z\d_]+):/, 'gone'],
  [/^: (timeout ex|Query read timeout|Connection terminated|Client |There was an error establishing)/, 'gone'],
  [/^: .*(does not support SSL|password must be a|sslnegotiation)/, 'denied'],
]

const REPLACED =
  'Tables or views of the mirror were dropped or moved, perhaps while it was open, so what a run wrote to them is not there. Sync again: the whole ' +
  'schema is made anew; where only some of it is missing, put back a backup. Next time stop everything that writes to the mirror first.'

/** A failure of PostgreSQL or of the connection to it as MirrorUnusable, at the shown `address`; never with values of rows. */
export function postgresError(error: unknown, address: string): unknown {
  const unreadable = unreadableIn(error)
  if (unreadable !== undefined)
    return mirrorFault(address, { fault: 'foreign', said: unreadable }, { where: 'postgres' })
  const { code = '', message } = partsOf(error)
  if (isOurs(error) || message === undefined) return error
  const tls = tlsFailure(code, message)
  const isAdded = addedFunction(error, code) !== undefined
  const known = CLASSES.find(([pattern]) => pattern.test(`${code}: ${message}`))?.[1]
  const fault = tls !== undefined ? 'denied' : isAdded ? 'foreign' : known
  // The cause is dropped, since the driver keeps parameters and passwords in it.
  if (fault === undefined) return isSqlState(code) ? refusedStatement(message, code) : error
  const said =
    tls === undefined
      ? wordsOf(error, code, message) + callOf(error, code)
      : `${tls.what}${callOf(error, code)}. ${tls.fix.replace(/\.$/, '')}`
  if (fault === 'replaced') return new MirrorUnusable(`${address}: ${said}. ${REPLACED}`, { code: fault })
  return mirrorFault(address, { fault, said }, { where: 'postgres', kept: connectionsTaken(message, CONNECTIONS) })
}

/** What the server says, or in classes that quote values of rows that a statement failed; then what refused it, by its name. */
function wordsOf(error: unknown, code: string, message: string): string {
  const named = QUOTING.test(code) ? NAMED.filter((kind) => nameIn(error, kind) !== '') : []
  const called = addedFunction(error, code)
  return [
    QUOTING.test(code) ? 'a statement failed' : message.replace(/\.$/, ''),
    ...named.map((kind) => `${kind} ${nameIn(error, kind)}`),
    ...(called === undefined ? [] : [`function ${called}`]),
  ].join(', ')
}

const QUOTING = /^(0L|2[0-3]|2F|38|39|44|P0|XX000)/
const NAMED = ['table', 'column', 'constraint'] as const

/** The function that someone added, for a trigger, an index or a constraint, in which a statement failed because of what it does. */
function addedFunction(error: unknown, code: string): string | undefined {
  if (!/^(?:0|2[0-2F]|3|42|44|54|P0)/.test(code) || !isSqlState(code)) return undefined
  // Calls of functions stand in it from the inmost on, with the statements between them.
  const [, name] = /^(?:PL\/\w+|SQL) function "?([^\s("]+)/m.exec(nameIn(error, 'where')) ?? []
  return name === undefined || OURS.test(name) ? undefined : name
}

const OURS = /^(?:\w+\.)?note_(?:edited|deleted|truncated)$/

function callOf(error: unknown, code: string): string {
  const call = error instanceof Error && 'syscall' in error ? `${String(error.syscall)}, ` : ''
  return code === '' ? '' : ` (${call}${isSqlState(code) ? 'SQLSTATE ' : ''}${code})`
}

/** Whether the connection is gone, so that nothing is known of a statement that was not answered. */
export function isLost(error: unknown): boolean {
  const { code, message = '' } = partsOf(error)
  if (code === undefined) return /^(timeout ex|Query read timeout|Connection terminated|Client )/.test(message)
  return /^(57P0[1-5]|08|25P0[34])/.test(code) || !isSqlState(code)
}

/** Whether the same transaction is likely to succeed when it is simply begun again. */
export function isCollision(error: unknown): boolean {
  return /^(40001|40P01)$/.test(partsOf(error).code ?? '')
}

/** Whether an administrator cancelled the statement; one that took too long would do so again. */
export function isCancelled(error: unknown): boolean {
  const { code, message = '' } = partsOf(error)
  return code === '57014' && !/timeout/.test(message)
}

/** Whether a value does not fit into an index: at most about 2,700 bytes do. */
export function isTooLongToIndex(error: unknown): boolean {
  return partsOf(error).code === '54000'
}

/** Whether a row was to be inserted whose key is taken: not that of a table that the server numbers, which a number given twice takes. */
export function isTaken(error: unknown): boolean {
  return nameIn(error, 'code') === '23505' && !NUMBERED_KEYS.has(nameIn(error, 'constraint'))
}

/** Whether that key is the number or the id of a customer, and none that someone added. */
export function isCustomerTaken(error: unknown): boolean {
  return isTaken(error) && OF_CUSTOMERS.test(nameIn(error, 'constraint'))
}

const NUMBERED_KEYS: ReadonlySet<string> = new Set(NUMBERED.map(([table]) => `${table}_pkey`))

/** The unique indexes of customers, and what they are called in partitions. */
const OF_CUSTOMERS = /^customers(_\d+)?_(pkey|by_id|organization_id_idx)$/

function nameIn(error: unknown, key: 'code' | 'table' | 'column' | 'constraint' | 'where'): string {
  const value: unknown = error instanceof Error ? Reflect.get(error, key) : undefined
  return typeof value === 'string' ? value : ''
}

/** Node names every address it tried in one error. */
function partsOf(error: unknown): { code?: string; message?: string } {
  if (!(error instanceof Error)) return {}
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const said = first instanceof Error ? first : error
  const code = 'code' in said && typeof said.code === 'string' ? said.code : undefined
  return code === undefined ? { message: said.message } : { code, message: said.message }
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
}

/** A defect of this program. Only sentences about names are quoted: others quote values of rows. */
function refusedStatement(message: string, code: string): Error {
  return new Error(`PostgreSQL refused a statement (${code}${code.startsWith('42') ? `: ${message}` : ''})`)
}
