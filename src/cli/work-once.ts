import type { Config } from '../config/read-config.ts'
import type { Outcome } from '../mirror-organization.ts'
import { configuredPlan } from '../reading/publish/configured-plan.ts'
import type { AnyPlan, Published } from '../reading/publish/publish-plan.ts'
import type { Io } from './io.ts'
import { awaitedText } from './output/awaited-text.ts'
import { showProgress } from './output/progress.ts'
import { say } from './output/say.ts'

/** What `worker --once` did; `published` is undefined where no copy for readers is configured. */
type WorkedOnce = { outcomes: Outcome[]; config: Config; published: Published | undefined }

/** Mirrors every organization once, each as a job in the queue, and prints a line for each. */
export async function workOnce(
  options: { config?: string | undefined; embedded: boolean },
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
): Promise<WorkedOnce> {
  const { openOnce } = await import('../../jobs/commands/run-once.ts')
  const worker = await openOnce(options, {
    signal,
    onMirrorAway: (error, longestWaitMs) => say(stderr, awaitedText(error, longestWaitMs)),
  })
  try {
    const outcomes = await showProgress(worker.config.organizations, stderr, ({ id }, talk) => worker.run(id, talk), {
      stop: signal,
    })
    const plan = configuredPlan(worker.config)
    const published = plan === undefined || signal.aborted ? undefined : await publish(plan, signal)
    return { outcomes, config: worker.config, published }
  } finally {
    await worker.close()
  }
}

/** Loaded only where a copy is configured. */
async function publish(plan: AnyPlan, signal: AbortSignal): Promise<Published> {
  const { publishAfterRuns } = await import('../reading/publish/publish-after-runs.ts')
  return publishAfterRuns(plan, { signal })
}
