import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { processEnvironment } from '../../config/environment.ts'
import { Interrupted, reportedError } from '../../errors/errors.ts'
import { keptCompiled, programBeside } from '../../machine/process-apart.ts'
import { copyFault } from '../files/copy-error.ts'
import { parsedJson } from '../../parsed-json.ts'
import { published, type AnyPlan, type Published } from './publish-plan.ts'

const PROGRAM = programBeside(import.meta.url, 'publish-process')

const answer = z.union([
  z.strictObject({ published }),
  z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) }),
])

/**
 * Publishes in a process of its own, which takes seconds of CPU that runs and health checks of this one do not wait for. Aborting
 * `signal` kills it, at any moment: what it had not finished is removed by the next publish. Throws what publishCopies throws,
 * and Interrupted after an abort.
 */
export async function publishApart(plan: AnyPlan, { signal }: { signal: AbortSignal }): Promise<Published> {
  if (signal.aborted) throw stopped()
  const child = spawn(process.execPath, PROGRAM, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...processEnvironment(), ...keptCompiled() },
    signal,
    killSignal: 'SIGKILL',
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let failed: Error | undefined
  // It could not be started, or was killed as asked.
  child.on('error', (error) => (failed = error))
  // A process that ended early does not read its plan; its end says so.
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(plan))
  const [said] = await Promise.all([text(child.stdout), closed])
  if (signal.aborted) throw stopped()
  return read(said, failed?.message ?? child.signalCode ?? `exit code ${child.exitCode}`)
}

function read(said: string, ending: string): Published {
  const document = parsedJson(said)
  // Nothing, or the beginning of an answer.
  if (document === undefined)
    throw copyFault('the process that publishes', { fault: 'gone', said: `was ended (${ending})` }, { kept: WHOLE })
  const found = answer.parse(document)
  if ('error' in found) throw reportedError(found.error)
  return found.published
}

function stopped(): Interrupted {
  return new Interrupted(`Publishing was stopped as asked. ${WHOLE}`)
}

/** Some of several copies may be in their places already. */
const WHOLE = 'What readers find is whole: each copy is the one from before, or a new one.'
