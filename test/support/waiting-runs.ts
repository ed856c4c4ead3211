import type { Queues } from '../../jobs/queue/queues.ts'
import { eventually } from './eventually.ts'
import { runCli } from './run-cli.ts'

type Options = Pick<Parameters<typeof runCli>[1], 'signal' | 'onStderr'>

/** Runs `run` in that folder. */
export function run(place: { config: string; folder: string }, args: readonly string[], options: Options = {}) {
  return runCli(['run', ...args, '--config', place.config], { cwd: place.folder, ...options })
}

/** The worker reports a run before its job waits. */
export async function untilDelayed(queues: Queues): Promise<void> {
  await eventually(
    () => queues.sync.getJobCountByTypes('delayed'),
    (jobs) => jobs === 1,
  )
}
