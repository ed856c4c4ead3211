import { DEFAULT_SCHEMA } from 'bullmq'
import { z } from 'zod'
import type { FreeJobs } from '../left-jobs.ts'
import type { Queryable } from './postgres-values.ts'

/**
 * Frees jobs as the tables of BullMQ have them: a job is stalled if it is marked and its lock has run out. By the clock of the worker that
 * wrote it, the end of a lock, or the last look for stalled jobs, may lie far ahead.
 */
export function postgresLeftJobs(pool: Queryable): FreeJobs {
  return async (queue, { isGone, isSilent }) => {
    const active = rows.parse((await pool.query(ACTIVE, [queue])).rows)
    const [look] = looks.parse((await pool.query(LOOKED, [queue])).rows)
    let freed = 0
    for (const { id, lock_token: lock, processed_by: worker, until } of active) {
      const isLeft = isSilent(id, `${lock} ${until}`) || isGone(lock ?? worker ?? '')
      if (isLeft) freed += (await pool.query(FREE, [queue, id, lock, until])).rows.length
    }
    const isStuck = look !== undefined && isSilent('stalled-check', look.value)
    if (freed > 0 || isStuck) await pool.query(LOOK_AGAIN, [queue])
    return freed
  }
}

const ACTIVE = `SELECT id, lock_token, processed_by, locked_until_ms::text AS until FROM ${DEFAULT_SCHEMA}.job
  WHERE queue = $1 AND state = 'active'`

const LOOKED = `SELECT value FROM ${DEFAULT_SCHEMA}.meta WHERE queue = $1 AND field = 'stalled-check'`

/** Only if the lock is still the one that was looked at: another worker may have the job by now, or its own may have renewed it. */
const FREE = `UPDATE ${DEFAULT_SCHEMA}.job SET locked_until_ms = 0, stalled_marked = true
  WHERE queue = $1 AND id = $2 AND state = 'active' AND lock_token IS NOT DISTINCT FROM $3
    AND locked_until_ms IS NOT DISTINCT FROM $4::bigint
  RETURNING id`

const LOOK_AGAIN = `UPDATE ${DEFAULT_SCHEMA}.meta SET value = '0' WHERE queue = $1 AND field = 'stalled-check'`

const rows = z.array(
  z.object({
    id: z.string(),
    lock_token: z.string().nullable(),
    processed_by: z.string().nullable(),
    until: z.string().nullable(),
  }),
)

const looks = z.array(z.object({ value: z.string() }))
