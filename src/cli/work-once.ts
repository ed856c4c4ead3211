import type { Outcome } from '../mirror-organization.ts'
import type { BlockSettings } from './output/failure-blocks.ts'
import type { Io } from './io.ts'
import { showProgress } from './output/progress.ts'

/** Mirrors every organization once, each as a job in the queue, and prints a line for each. */
export async function workOnce(
  options: { config?: string | undefined; embedded: boolean },
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
): Promise<{ outcomes: Outcome[]; mirrorFile: string } & Pick<BlockSettings, 'organizations'>> {
  const { openOnce } = await import('../../jobs/run/run-once.ts')
  const worker = await openOnce(options, { signal })
  try {
    const outcomes = await showProgress(worker.organizations, stderr, ({ id }, talk) => worker.run(id, talk), {
      stop: signal,
    })
    return { outcomes, organizations: worker.organizations, mirrorFile: worker.mirrorFile }
  } finally {
    await worker.close()
  }
}
