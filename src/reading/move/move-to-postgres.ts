import { shownMirror } from '../../address/mirror-address.ts'
import { postgresSide } from '../../mirror/move/postgres-side.ts'
import { sqliteSide } from '../../mirror/move/sqlite-side.ts'
import { MOVED_TABLES } from '../../mirror/move/moved-tables.ts'
import { requireAllRows } from '../../mirror/postgres/all-rows.ts'
import { openDatabase as openServer, type Opening } from '../../mirror/postgres/opening/database.ts'
import type { Session } from '../../mirror/postgres/session.ts'
import { openDatabase, type Connection } from '../../mirror/sqlite/opening/database.ts'
import { findHeldLease } from '../../mirror/sqlite/run/lease.ts'
import { carry, refuseRun, requireLatest, type Move, type Moved, type Moving } from './carry.ts'
import { inMirrorFile } from '../in-mirror-file.ts'

/** Moves a file to a schema, in one transaction there: a move that was killed leaves nothing. */
export async function moveToPostgres(
  { from: file, to }: Move,
  moving: Moving,
  { connect }: Pick<Opening, 'connect'> = {},
): Promise<Moved> {
  const db = openDatabase(file, 'read')
  try {
    db.exec('BEGIN')
    const held = findHeldLease(db, moving)
    if (held !== undefined) refuseRun(held)
    const copied = latestRun(db)
    const server = await openServer(to, 'write', { connect })
    try {
      const work = async (session: Session) => {
        await requireAllRows(session)
        // A run that starts there meanwhile waits, and is refused.
        await session.run('LOCK TABLE runs, leases IN EXCLUSIVE MODE')
        const there = postgresSide(session, shownMirror(to))
        const moved = await carry(sqliteSide(db, file), there, { ...moving, forPostgres: true })
        for (const { name } of MOVED_TABLES) await session.run(`ANALYZE ${name}`)
        requireLatest(copied, inMirrorFile(file, latestRun))
        return moved
      }
      return await server.write(work, undefined, (session, moved) => holds(session, to, moved))
    } finally {
      await server.close()
    }
  } finally {
    db.close()
  }
}

/** Whether the tables, which were empty, hold what was moved. */
async function holds(session: Session, to: string, { rows }: Moved): Promise<boolean> {
  const there = postgresSide(session, shownMirror(to))
  for (const table of MOVED_TABLES.filter(({ name }) => LASTING.has(name)))
    if ((await there.count(table, undefined)) < (rows[table.name] ?? 0)) return false
  return true
}

/** Tables of which a run that begins at once deletes no rows. */
const LASTING = new Set(['runs', 'customers', 'changes'])

function latestRun(db: Connection): number {
  return db.prepare<[], number>('SELECT coalesce(MAX(id), 0) FROM runs').pluck().get() ?? 0
}
