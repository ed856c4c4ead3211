import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { askedSchema, type Answering, type Dataset } from './messages.ts'

/** Starts a service over made-up customers in a process of its own, and waits until it listens. */
export async function startService(dataset: Dataset) {
  // A million customers are made as objects before they are rendered.
  const { line, end } = await startHelper(SERVICE, dataset, ['--max-old-space-size=8192'])
  const { origin } = z.object({ origin: z.string() }).parse(line)
  return {
    origin,
    /** How it answers from now on. It forgets what it was asked so far. */
    async answer(answering: Answering) {
      const { ok } = await fetch(`${origin}/answering`, { method: 'POST', body: JSON.stringify(answering) })
      if (!ok) throw new Error('The service of the benchmark refused its settings.')
    },
    /** The paths it was asked for since, in order. */
    asked: async () => askedSchema.parse(await (await fetch(`${origin}/asked`)).json()),
    close: end,
  }
}

export type Service = Awaited<ReturnType<typeof startService>>

const SERVICE = new URL('service-process.ts', import.meta.url)

/** Starts a program of the benchmark that prints one line of JSON when it is ready, and ends when its input does. */
export async function startHelper(program: URL, argument: object, flags: readonly string[] = []) {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), JSON.stringify(argument)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended.then(() => [])])
  if (line === undefined) throw new Error(`${program.pathname} did not start.`)
  return {
    line: z.json().parse(JSON.parse(String(line))),
    end: async () => {
      child.stdin.end()
      await ended
    },
  }
}
