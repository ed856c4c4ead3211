import Database from 'better-sqlite3'
import { isOfSqlite, mirrorFault, seenIn } from '../../errors/faults.ts'
import { unreadableIn } from './sql.ts'
import { COLUMNS, incomplete, namesIn, SHAPES, SQLITE_SCHEMA } from '../schema/schema.ts'
import type { Connection } from '../sqlite/connect.ts'

/** A failure of SQLite as MirrorUnusable; any other error unchanged. With the connection it is looked for what someone added to the mirror. */
export function sqliteError(error: unknown, file: string, db?: Connection): unknown {
  const said = unreadableIn(error) ?? (db === undefined ? undefined : meddlingIn(db, error))
  if (said !== undefined) return meddledWith(file, said, error)
  return isOfSqlite(error) ? fileError(error, file) : error
}

/** A failure of SQLite or of the file system while a mirror is opened, as MirrorUnusable; any other error unchanged. */
export function fileError(error: unknown, file: string): unknown {
  const seen = seenIn(error)
  if (seen !== undefined) return mirrorFault(file, seen, { cause: error })
  if (isOfSqlite(error) && error.message.startsWith('no such module: ')) return meddledWith(file, error.message, error)
  const dropped = droppedTable(error)
  return dropped === undefined ? error : incomplete(file, [dropped])
}

/** A sound mirror of which someone changed this. */
export function meddledWith(file: string, said: string, cause?: unknown) {
  return mirrorFault(file, { fault: 'foreign', said }, { where: 'contents', cause })
}

function meddlingIn(db: Connection, error: unknown): string | undefined {
  if (!isOfSqlite(error) || !db.open || droppedTable(error) !== undefined) return undefined
  return (error.code === 'SQLITE_ERROR' ? reshapedIn(db) : undefined) ?? refusalIn(db, error)
}

const NAMES: ReadonlySet<string> = new Set(namesIn(SQLITE_SCHEMA))

function droppedTable(error: unknown): string | undefined {
  const name = isOfSqlite(error) ? /^no such table: (?:\w+\.)?(\w+)$/.exec(error.message)?.[1] : undefined
  return name !== undefined && NAMES.has(name) ? name : undefined
}

/*
 * What someone else made in a mirror, or changed there: a trigger, a unique index, a table of theirs that refers to ours or stands in a trigger.
 * It may refuse what a run writes, which is neither damage of the file nor a defect of this program.
 */

/** An object of the mirror that is not as it was made; `on` is the table of a trigger or of an index. */
type Foreign = { kind: string; name: string; on: string; sql: string }

/** What SQLite reports of a statement that is right on a mirror as it was made. */
const REFUSED = /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|CORRUPT_VTAB)/

/** The words for an error of our own statement, with the objects that may be the cause; undefined where none is there, or it is no such error. */
function refusalIn(db: Connection, error: unknown): string | undefined {
  if (!isOfSqlite(error) || !REFUSED.test(String(error.code))) return undefined
  const found = foreignIn(db)
  if (found.length === 0) return undefined
  // What a trigger of theirs says may hold values of the row, and what a full-text index says is no damage of the file.
  const said = /^SQLITE_(CONSTRAINT_TRIGGER|CORRUPT_VTAB)$/.test(String(error.code))
    ? 'a statement failed'
    : error.message
  // Those that the message names come first.
  const isNamed = ({ name }: Foreign) => Number(error.message.includes(name))
  const likely = found.toSorted((one, other) => isNamed(other) - isNamed(one)).slice(0, 5)
  return `${said} (${String(error.code)}), ${likely.map(named).join(', ')}`
}

/** What someone added that may refuse a write, or changed. */
export function additionsIn(db: Connection): string[] {
  return foreignIn(db).map(named)
}

/** The names of virtual tables, none of which is ours. */
export function virtualTablesIn(db: Connection): string[] {
  return foreignIn(db).flatMap(({ kind, name }) => (kind === 'virtual table' ? [name] : []))
}

/** Why statements on a table of the mirror can no longer be prepared: a trigger that names what is not there, for one. Writes nothing. */
export function failingIn(db: Connection): string | undefined {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const set = columns.map((column) => `"${column}" = "${column}"`).join(', ')
    for (const each of [`INSERT INTO ${table} DEFAULT VALUES`, `DELETE FROM ${table}`, `UPDATE ${table} SET ${set}`])
      try {
        db.prepare(each)
      } catch (error) {
        const refusal = refusalIn(db, error)
        if (refusal === undefined) throw error
        return refusal
      }
  }
  return undefined
}

/** A table or a view, of those that are there, that someone gave another shape, and how; undefined if there is none. */
export function reshapedIn(db: Connection): string | undefined {
  const columnsOf = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck()
  for (const [name, wanted] of Object.entries(SHAPES)) {
    try {
      const held = new Set(columnsOf.all(name))
      const lacking = wanted.find((column) => !held.has(column))
      if (held.size > 0 && lacking !== undefined)
        return `${name} lacks the column ${lacking}, which was renamed or dropped`
    } catch (error) {
      if (!isOfSqlite(error) || error.code !== 'SQLITE_ERROR') throw error
      return `the view ${name} cannot be read any more: ${error.message}`
    }
  }
  return undefined
}

function named({ kind, name, on }: Foreign): string {
  return on === name ? `${kind} ${name}` : `${kind} ${name} on ${on}`
}

function foreignIn(db: Connection): Foreign[] {
  const made = ours()
  const isOn = (table: string) => made.get(table)?.kind === 'table'
  const referred = db.prepare<[string], string>('SELECT "table" FROM pragma_foreign_key_list(?)').pluck()
  const found = db.prepare<[], Foreign>(OBJECTS).all()
  return found.flatMap((object) => {
    const own = made.get(object.name)
    if (own !== undefined)
      return own.sql === object.sql || (own.kind === 'table' && rulesIn(object.sql) <= rulesIn(own.sql))
        ? []
        : [{ ...object, kind: `changed ${object.kind}` }]
    if (object.kind === 'trigger') return isOn(object.on) ? [object] : []
    if (object.kind === 'index')
      return isOn(object.on) && IS_UNIQUE.test(object.sql) ? [{ ...object, kind: 'unique index' }] : []
    if (IS_VIRTUAL.test(object.sql)) return [{ ...object, kind: 'virtual table' }]
    return object.kind === 'table' && referred.all(object.name).some(isOn) ? [object] : []
  })
}

/** How many constraints and generated columns a table has; any other column that someone added refuses nothing. */
function rulesIn(sql: string): number {
  return sql.match(/\b(CHECK|REFERENCES|AS)\b/gi)?.length ?? 0
}

const OBJECTS = `
  SELECT type AS kind, name, tbl_name AS "on", sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
const IS_UNIQUE = /^CREATE UNIQUE/i
const IS_VIRTUAL = /^CREATE VIRTUAL/i

function ours(): Map<string, Foreign> {
  if (made === undefined) {
    const db = new Database(':memory:')
    db.exec(SQLITE_SCHEMA)
    const objects = db.prepare<[], Foreign>(OBJECTS).all()
    made = new Map(objects.map((object) => [object.name, object]))
    db.close()
  }
  return made
}

let made: Map<string, Foreign> | undefined
