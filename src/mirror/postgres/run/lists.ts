import type { LaterOrder } from '../../../list/later-order.ts'
import { EMPTY_LIST, type ListAsRead, type ListColumns, type ListedWindow } from '../../../list/list-as-read.ts'
import type { Run } from '../../../run.ts'
import {
  changedChunks,
  changedWindows,
  chunkCount,
  columnsIn,
  listIn,
  READER,
  type Change,
  type StoredChunk,
  type StoredList,
} from '../../sql/list-chunks.ts'
import { forgetEdits } from './doubted-rows.ts'
import { ArrayOf, type Session } from '../session.ts'

/** Chunks written in one statement: some 2 MB as text. */
const CHUNKS_AT_ONCE = 16

/** The list of an organization as its last complete run read it; empty if this program has none to rely on. */
export async function loadList(session: Session, organization: string): Promise<ListAsRead> {
  const list = await session.first<StoredList>(
    'SELECT customers, warnings, order_facts, later_order FROM lists WHERE organization = $1 AND reader = $2',
    organization,
    READER,
  )
  if (list === undefined) return EMPTY_LIST
  const find = 'SELECT * FROM list_chunks WHERE organization = $1 ORDER BY chunk'
  const columns = columnsIn(await session.all<StoredChunk>(find, organization), list.customers)
  // A damaged list is ignored.
  if (columns === undefined) return EMPTY_LIST
  const found = await session.first<{ windows: string }>(FIND_WINDOWS, organization)
  return listIn(list, columns, windowsIn(found?.windows ?? '[]'))
}

/** As one value: to read a row for each, the driver takes twice as long. */
const FIND_WINDOWS = `
  SELECT coalesce(json_agg(json_build_array(place, count, digest, outline) ORDER BY number), '[]') AS windows
  FROM list_windows WHERE organization = $1`

function windowsIn(json: string): ListedWindow[] {
  const windows: [place: number, count: number, digest: string, outline: string][] = JSON.parse(json)
  return windows.map(([place, count, digest, outline]) => ({ place, count, digest, outline }))
}

/** Stores the list of a complete run, in place of the one it began with; unchanged parts are not written. */
export async function storeList(session: Session, run: Run, list: ListAsRead): Promise<void> {
  const { organization, id } = run
  const { columns, windows, warnings, order } = list
  if (columns !== run.list.columns) {
    await storeChunks(session, organization, { before: run.list.columns, after: columns })
  }
  if (windows !== run.list.windows) {
    await storeWindows(session, organization, { before: run.list.windows, after: windows })
  }
  await session.run(
    `INSERT INTO lists (organization, run_id, reader, customers, warnings, order_facts) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (organization) DO UPDATE SET run_id = excluded.run_id, reader = excluded.reader,
       customers = excluded.customers, warnings = excluded.warnings, order_facts = excluded.order_facts,
       later_order = NULL`,
    ...[organization, id, READER, columns.rowIds.length, JSON.stringify(warnings), JSON.stringify(order)],
  )
  await forgetEdits(session, run)
}

async function storeChunks(session: Session, organization: string, change: Change<ListColumns>): Promise<void> {
  const changed = [...changedChunks(change)]
  for (let from = 0; from < changed.length; from += CHUNKS_AT_ONCE) {
    const part = changed.slice(from, from + CHUNKS_AT_ONCE)
    const column = (place: number) => ArrayOf.bytes(part.flatMap(({ columns }) => columns[place] ?? []))
    await session.run(
      `INSERT INTO list_chunks (organization, chunk, row_ids, fingerprints, id_fingerprints, comparisons, oddities)
       SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
       ON CONFLICT (organization, chunk) DO UPDATE SET row_ids = excluded.row_ids,
         fingerprints = excluded.fingerprints, id_fingerprints = excluded.id_fingerprints,
         comparisons = excluded.comparisons, oddities = excluded.oddities`,
      ...[organization, part.map(({ chunk }) => chunk), column(0), column(1), column(2), column(3), column(4)],
    )
  }
  await session.run(
    'DELETE FROM list_chunks WHERE organization = $1 AND chunk >= $2',
    organization,
    chunkCount(change.after),
  )
}

async function storeWindows(
  session: Session,
  organization: string,
  change: Change<readonly ListedWindow[]>,
): Promise<void> {
  const changed = [...changedWindows(change)]
  if (changed.length > 0) {
    await session.run(
      `INSERT INTO list_windows (organization, number, place, count, digest, outline)
       SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
       ON CONFLICT (organization, number) DO UPDATE SET place = excluded.place, count = excluded.count,
         digest = excluded.digest, outline = excluded.outline`,
      organization,
      changed.map(({ number }) => number),
      changed.map(({ place }) => place),
      changed.map(({ count }) => count),
      changed.map(({ digest }) => digest),
      changed.map(({ outline }) => outline),
    )
  }
  await session.run(
    'DELETE FROM list_windows WHERE organization = $1 AND number >= $2',
    organization,
    change.after.length,
  )
}

/** Stores what a quick run found out about the order of the list since it was read. */
export async function storeLaterOrder(session: Session, organization: string, later: LaterOrder): Promise<void> {
  await session.run(
    'UPDATE lists SET later_order = $3 WHERE organization = $1 AND reader = $2',
    organization,
    READER,
    JSON.stringify(later),
  )
}
