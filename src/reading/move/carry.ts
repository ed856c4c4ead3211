import { MirrorUnusable, OrganizationLeased, UsageError } from '../../errors/errors.ts'
import {
  type Copied,
  copyRows,
  countOrganizations,
  countRows,
  findDifference,
  heldTable,
} from '../../store/move-mirror.ts'
import type { Session } from '../../store/port/store.ts'

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

/** Both mirrors, each in a transaction that the caller holds, and what they are called in messages. */
export type Sides = { from: Session; to: Session; fromPlace: string; toPlace: string }

/** Copies all of a mirror, compares it, and reports how much of both is done. */
export async function carry(
  { from, to, fromPlace, toPlace }: Sides,
  { signal, onProgress }: Pick<Moving, 'signal' | 'onProgress'>,
): Promise<Moved> {
  const held = heldTable(await countRows(to))
  if (held !== undefined)
    throw new UsageError(
      `${toPlace}: holds a mirror already (there are rows in its table ${held}). It was left as it is; name a place without one, such as ` +
        'another schema.',
    )
  const total = Object.values(await countRows(from)).reduce((sum, count) => sum + 2 * count, 0)
  let done = 0
  const onRows = (rows: number) => onProgress(Math.min(1, (done += rows) / total))
  const copied = await copyRows({ from, to, signal, onRows })
  const difference = await findDifference({ from, to, signal, onRows })
  if (difference !== undefined)
    throw new MirrorUnusable(
      `${toPlace}: what was written there differs from ${fromPlace} in ${difference.table} (${difference.key}), ${difference.column}. ` +
        'Nothing was moved.',
      { code: 'damaged' },
    )
  return { ...copied, organizations: await countOrganizations(from) }
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
