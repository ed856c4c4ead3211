import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { askedSchema, startedSchema, type Answering, type Dataset } from '../messages.ts'

/** The service, in a process of its own. */
export type Service = {
  readonly origin: string
  /** How it answers from now on. It forgets what it was asked so far. */
  answer(answering: Answering): Promise<void>
  /** The paths it was asked for since, in order. */
  asked(): Promise<string[]>
  close(): Promise<void>
}

/** The services that are running, one for each dataset. */
export type Services = {
  /** Started when it is needed first. */
  for(dataset: Dataset): Promise<Service>
  close(): Promise<void>
}

export function createServices(): Services {
  const started = new Map<string, Promise<Service>>()
  return {
    for(dataset) {
      const key = keyOf(dataset)
      const service = started.get(key) ?? startService(dataset)
      started.set(key, service)
      return service
    },
    async close() {
      for (const service of started.values()) await (await service).close()
      started.clear()
    },
  }
}

/** Names a dataset, in a file name too. */
export function keyOf({ organizations, customers }: Dataset): string {
  return `${organizations}x${customers}`
}

/** Starts a service over made-up customers, and waits until it listens. */
export async function startService(dataset: Dataset): Promise<Service> {
  const program = fileURLToPath(new URL('service-process.ts', import.meta.url))
  // A million customers are made as objects before they are rendered.
  const child = spawn(process.execPath, ['--max-old-space-size=8192', program, JSON.stringify(dataset)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const firstLine = once(createInterface({ input: child.stdout }), 'line')
  const [line] = await Promise.race([firstLine, ended.then(() => [''])])
  if (line === '') throw new Error('The service of the benchmark did not start.')
  const { origin } = startedSchema.parse(JSON.parse(String(line)))
  return {
    origin,
    async answer(answering) {
      const { ok } = await fetch(`${origin}/answering`, { method: 'POST', body: JSON.stringify(answering) })
      if (!ok) throw new Error('The service of the benchmark refused its settings.')
    },
    asked: async () => askedSchema.parse(await (await fetch(`${origin}/asked`)).json()),
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
