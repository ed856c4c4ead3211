import { z } from 'zod'
import { type Queryable, sharedRows, TABLE } from './postgres-values.ts'
import {
  believableMs,
  farthestMs,
  type Reserved,
  SET_BACK_MS,
  type SharedLimits,
  valueOf,
  type Wanted,
} from '../../limits/shared-limits.ts'
import { codeOf } from '../../../src/errors/faults.ts'

/** Rate limits beside the other shared values. One statement locks the row, reads the clock of PostgreSQL, reserves and writes. */
export function postgresLimits(pool: Queryable, prefix: string): SharedLimits {
  const queue = sharedRows(prefix)
  const reserve = async (name: string, wanted: Wanted): Promise<Reserved | undefined> => {
    const { turns, spacingMs, pauseMs, worker } = wanted
    const settings = [turns, spacingMs, pauseMs, worker, believableMs(spacingMs), SET_BACK_MS, farthestMs(spacingMs)]
    const { rows } = await pool.query(RESERVE, [queue, valueOf(name), ...settings])
    return rows.length === 0 ? undefined : reservedIn(stored.parse(rows)[0].value, wanted)
  }
  return {
    async reserve(name, wanted) {
      const reserved = await reserve(name, wanted).catch(async (error: unknown) => {
        if (!isForeignValue(error)) throw error
        await pool.query(`DELETE FROM ${TABLE} WHERE queue = $1 AND field = $2`, [queue, valueOf(name)])
        return undefined
      })
      if (reserved !== undefined) return reserved
      await pool.query(BEGIN, [queue, valueOf(name)])
      return (await reserve(name, wanted)) ?? Promise.reject(new Error('the value of the limit was deleted'))
    },
  }
}

const stored = z.tuple([
  z.object({
    value: z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(
        z.object({
          atMs: z.number(),
          nextMs: z.number(),
          pausedUntilMs: z.number(),
          workers: z.record(z.string(), z.number()),
        }),
      ),
  }),
])

function reservedIn(
  { atMs, nextMs, pausedUntilMs, workers }: z.output<typeof stored>[0]['value'],
  { turns, spacingMs }: Wanted,
): Reserved {
  const pausedMs = Math.max(0, pausedUntilMs - atMs)
  const granted = pausedMs > 0 ? 0 : turns
  return {
    turns: granted,
    firstInMs: nextMs - granted * spacingMs - atMs,
    pausedMs,
    workers: Object.keys(workers).length,
  }
}

/** The value is no JSON, or other JSON than ours. */
function isForeignValue(error: unknown): boolean {
  return error instanceof z.ZodError || codeOf(error)?.startsWith('22') === true
}

const BEGIN = `INSERT INTO ${TABLE} (queue, field, value) VALUES ($1, $2, '{}') ON CONFLICT (queue, field) DO NOTHING`

/** Fields of a newer version stay. */
const RESERVE = `
  UPDATE ${TABLE} AS kept SET value = (
    SELECT (old || jsonb_build_object(
      'atMs', at,
      'nextMs', turn + CASE WHEN paused > at THEN 0 ELSE $3::numeric * $4::numeric END,
      'pausedUntilMs', paused,
      'workers', jsonb_build_object($6::text, at) || (
        SELECT coalesce(jsonb_object_agg(worker, seen), '{}')
        FROM jsonb_each(coalesce(old -> 'workers', '{}')) AS others (worker, seen)
        WHERE worker <> $6 AND abs(at - seen::text::numeric) <= $7
      )))::text
    FROM (
      SELECT old, at,
        CASE WHEN next + shift BETWEEN at AND at + $9::numeric THEN next + shift ELSE at END AS turn,
        greatest(paused + shift, CASE WHEN $5::numeric > 0 THEN at + $5::numeric END) AS paused
      FROM (
        SELECT old, at,
          coalesce((old ->> 'nextMs')::numeric, at) AS next,
          coalesce((old ->> 'pausedUntilMs')::numeric, 0) AS paused,
          CASE WHEN at < (old ->> 'atMs')::numeric - $8::numeric THEN at - (old ->> 'atMs')::numeric ELSE 0 END AS shift
        FROM (
          SELECT kept.value::jsonb AS old, round(extract(epoch FROM clock_timestamp())::numeric * 1000, 1) AS at
        ) AS clock
      ) AS before
    ) AS now
  ) WHERE queue = $1 AND field = $2 RETURNING value`
