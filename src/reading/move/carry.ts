import { MirrorUnusable, OrganizationLeased, UsageError } from '../../errors/errors.ts'
import { copyMirror, type Copied, type Copying, portionsOf, tablesOf } from '../../mirror/move/copy-mirror.ts'
import { MOVED_TABLES, type MovedTable } from '../../mirror/move/moved-tables.ts'
import { type Side, keyOf, type Row, type Value } from '../../mirror/move/side.ts'

export type Move = {
  /** A path, or the address of a database: of the mirror that is moved, and of the place that has none. */
  from: string
  to: string
}

export type Moving = {
  signal: AbortSignal
  /** Called with the share of the work that is done, from 0 to 1. */
  onProgress: (share: number) => void
  nowMs: number
  monotonicMs: number | undefined
}

/** What was moved, and compared: the number of rows of each table, and of values with a character that PostgreSQL cannot hold. */
export type Moved = Copied & { organizations: number }

/** Copies all of a mirror, compares it, and reports how much of both is done. The caller holds the transactions. */
export async function carry(
  from: Side,
  to: Side,
  { forPostgres, signal, onProgress }: Pick<Copying, 'forPostgres'> & Pick<Moving, 'signal' | 'onProgress'>,
): Promise<Moved> {
  await requireEmpty(to)
  let total = 0
  for (const table of MOVED_TABLES) total += 2 * (await from.count(table, undefined))
  let done = 0
  const onRows = (rows: number) => onProgress(Math.min(1, (done += rows) / total))
  const copied = await copyMirror(from, to, { forPostgres, signal, onRows })
  const difference = await compareMirrors(from, to, { forPostgres, signal, onRows })
  if (difference !== undefined)
    throw new MirrorUnusable(
      `${to.place}: what was written there differs from ${from.place} in ${difference.table} (${difference.key}), ${difference.column}. ` +
        'Nothing was moved.',
      { code: 'damaged' },
    )
  return { ...copied, organizations: (await from.organizations()).length }
}

async function requireEmpty(to: Side): Promise<void> {
  for (const table of MOVED_TABLES) {
    if (table.of === 'mirror' || (await to.count(table, undefined)) === 0) continue
    throw new UsageError(
      `${to.place}: holds a mirror already (there are rows in its table ${table.name}). It was left as it is; name a place without one, such as ` +
        'another schema.',
    )
  }
}

/** Throws OrganizationLeased: what a run saves after the state that is copied would be lost. */
export function refuseRun({ organization, runId }: { organization: string; runId: number }): never {
  throw new OrganizationLeased(
    `${organization}: run ${runId} is mirroring it now, so the mirror cannot be moved. Nothing was changed. Stop the worker and ` +
      'whatever else starts runs, then try again; a run that died is given up after a minute.',
  )
}

/** Throws OrganizationLeased where a run began after the state that was copied. */
export function requireLatest(copied: number, latest: number): void {
  if (latest === copied) return
  throw new OrganizationLeased(
    `Run ${latest} began while the mirror was copied, so nothing was moved. Stop the worker and whatever else starts runs, then try again.`,
  )
}

/** The first difference found: a table, and the key and the column where it is. Values are personal data, so there are none. */
type Difference = { table: string; key: string; column: string }

/**
 * Compares every value of every row with what was copied, and counts the rows of both. Undefined where all is the same. The target is read
 * from the store, and not from what was sent to it.
 */
export async function compareMirrors(from: Side, to: Side, copying: Copying): Promise<Difference | undefined> {
  for (const table of tablesOf(copying)) {
    const [before, after] = [await from.count(table, copying.organizations), await to.count(table, undefined)]
    if (before !== after) return { table: table.name, key: '', column: `${after} rows instead of ${before}` }
  }
  const last = new Map<string, Row>()
  for await (const { table, scope, rows } of portionsOf(from, copying, { values: 0 })) {
    const place = JSON.stringify([table.name, scope])
    const found = await to.page(table, scope, last.get(place))
    for (const [at, row] of rows.entries()) {
      const column = differingColumn(table, row, found[at] ?? [])
      if (column !== undefined) return { table: table.name, key: keyOf(table, row).join(', '), column }
    }
    const end = found.at(-1)
    if (end !== undefined) last.set(place, end)
    copying.onRows?.(rows.length)
  }
  return undefined
}

function differingColumn({ columns }: MovedTable, row: Row, found: Row): string | undefined {
  return Object.keys(columns).find((_, at) => !isSame(row[at] ?? null, found[at]))
}

function isSame(one: Value, other: Value | undefined): boolean {
  return Buffer.isBuffer(one) ? Buffer.isBuffer(other) && one.equals(other) : one === other
}
