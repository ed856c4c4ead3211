import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { processEnvironment } from '../config/environment.ts'
import { describeError, Interrupted, reportedError } from '../errors/errors.ts'
import type { Logger } from '../machine/log.ts'
import { keptCompiled, programBeside } from '../machine/process-apart.ts'
import { copyFault } from './copy-error.ts'
import { placeOf, type Published, type TargetPlan } from './publish-plan.ts'

export type Answer = { published: Published } | { error: { code: string; message: string } }

/**
 * Publishes in a process of its own, which takes seconds of CPU that runs and health checks of this one do not wait for. Aborting
 * `signal` kills it, at any moment: what it had not finished is removed by the next publish. Throws what publishing throws,
 * and Interrupted after an abort.
 */
export async function publishApart(
  plans: readonly TargetPlan[],
  { signal }: { signal: AbortSignal },
): Promise<Published> {
  if (signal.aborted) throw stopped()
  const child = spawn(process.execPath, programBeside(import.meta.url, 'publish-process'), {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...processEnvironment(), ...keptCompiled() },
    signal,
    killSignal: 'SIGKILL',
  })
  let failed: Error | undefined
  // It could not be started, or was killed as asked.
  child.on('error', (error) => (failed = error))
  const closed = new Promise((resolve) => child.once('close', resolve))
  // A process that ended early does not read its plan; its end says so.
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(plans))
  const [said] = await Promise.all([text(child.stdout), closed])
  if (signal.aborted) throw stopped()
  if (child.exitCode !== 0) {
    const ending = failed?.message ?? child.signalCode ?? `exit code ${child.exitCode}`
    throw copyFault('the process that publishes', { fault: 'gone', said: `was ended (${ending})` }, { kept: WHOLE })
  }
  const answer: Answer = JSON.parse(said)
  if ('error' in answer) throw reportedError(answer.error)
  return answer.published
}

function stopped(): Interrupted {
  return new Interrupted(`Publishing was stopped as asked. ${WHOLE}`)
}

/** Some of several copies may be in their places already. */
const WHOLE = 'What readers find is whole: each copy is the one from before, or a new one.'

/** Publishes after runs that are complete whatever becomes of it: a failure is returned, not thrown. */
export async function publishAfterRuns(
  plans: readonly TargetPlan[],
  { signal }: { signal: AbortSignal },
): Promise<Published> {
  const after = plans.map((plan) => ({ ...plan, afterRuns: true }))
  return publishApart(after, { signal }).catch((error: unknown) => {
    const failed = plans.map((plan) => ({ file: placeOf(plan), ...describeError(error) }))
    return { copies: [], leftOut: [], failed, warnings: [] }
  })
}

/** What was published and what was not, in one line each: paths, ids and counts. */
export function logPublished(log: Logger, { copies, leftOut, failed, warnings, parquet, bucket }: Published): void {
  for (const { file, bytes, sha256, organizations } of copies) {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    log.info({ file, bytes, sha256, organizations: organizations.length, customers }, 'copy published')
  }
  for (const [said, place] of Object.entries({ 'folder published': parquet, 'bucket published': bucket })) {
    if (place?.isNew !== true) continue
    const { to, generation, gone, replaced } = place
    const objects = place.organizations.filter(({ isNew }) => isNew)
    const bytes = objects.reduce((sum, object) => sum + object.bytes, 0)
    const organizations = place.organizations.length
    log.info({ to, generation, objects: objects.length, bytes, organizations, gone, replaced }, said)
  }
  if (leftOut.length > 0) log.warn({ leftOut }, 'organizations left out of the copy')
  for (const failure of failed) log.error({ failure }, 'copy not published')
  for (const warning of warnings) log.warn({ warning }, 'copy warning')
}
