import { ALL } from '../../src/pause.ts'
import { pause, resume, type Changed } from '../pauses.ts'
import { answerOf, type QueueConfig } from '../queue/with-queues.ts'
import { withAnyQueue } from '../queue/with-queues.ts'

/** Pauses these organizations, or all of them where none is named, for every worker of the queue. */
export async function pauseOrganizations(
  config: QueueConfig,
  organizations: readonly string[],
  when: { nowMs: number; untilMs: number | undefined },
): Promise<Changed[]> {
  return withAnyQueue(config, ({ backend }) => answerOf(backend, pause(backend.values, namesOf(organizations), when)))
}

/** Ends the pauses of these organizations, or every pause where none is named. */
export async function resumeOrganizations(
  config: QueueConfig,
  organizations: readonly string[],
  nowMs: number,
): Promise<Changed[]> {
  return withAnyQueue(config, ({ backend }) => answerOf(backend, resume(backend.values, namesOf(organizations), nowMs)))
}

function namesOf(organizations: readonly string[]): readonly string[] {
  return organizations.length === 0 ? [ALL] : organizations
}
