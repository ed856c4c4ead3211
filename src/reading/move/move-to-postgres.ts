import { shownMirror } from '../../address/mirror-address.ts'
import { MOVED_TABLES } from '../../store/move-mirror.ts'
import { postgresSession } from '../../store/port/postgres-store.ts'
import { openDatabase as openServer, type Opening, requireAllRows } from '../../store/postgres/open-database.ts'
import type { Session } from '../../store/port/postgres-session.ts'
import { openDatabase } from '../../store/sqlite/open-database.ts'
import type { Connection } from '../../store/sqlite/connect.ts'
import { sqliteSession } from '../../store/port/sqlite-store.ts'
import { heldLeases } from '../../store/runs/lease.ts'
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
    const [held] = await heldLeases(sqliteSession(db), moving)
    if (held !== undefined) refuseRun({ organization: held.organization, runId: held.run_id })
    const copied = latestRun(db)
    const server = await openServer(to, 'write', { connect })
    try {
      const work = async (session: Session) => {
        await requireAllRows(session)
        // A run that starts there meanwhile waits, and is refused.
        await session.run('LOCK TABLE runs, leases IN EXCLUSIVE MODE')
        const sides = {
          from: sqliteSession(db),
          to: postgresSession(session),
          fromPlace: file,
          toPlace: shownMirror(to),
        }
        const moved = await carry(sides, moving)
        for (const name of MOVED_TABLES) await session.run(`ANALYZE ${name}`)
        requireLatest(copied, inMirrorFile(file, latestRun))
        return moved
      }
      return await server.write(work)
    } finally {
      await server.close()
    }
  } finally {
    db.close()
  }
}

function latestRun(db: Connection): number {
  return db.prepare<[], number>('SELECT coalesce(MAX(id), 0) FROM runs').pluck().get() ?? 0
}
