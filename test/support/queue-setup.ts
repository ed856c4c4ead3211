import { stderr } from 'node:process'
import type { TestProject } from 'vitest/node'
import { chosenQueue } from './queue-choice.ts'
import { queueTemplate } from './queue-template.ts'
import { startRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The queue the tests run on: an address, or `embedded`. */
    queueAddress: string
    /** A folder with an embedded queue that was never used, to copy. */
    queueTemplate: string
  }
}

/** Finds or starts the queue for the tests, and says which it is. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const chosen = chosenQueue()
  const own = chosen === 'own' ? await startRedis() : undefined
  const address = own?.url ?? chosen
  provide('queueAddress', address)
  provide('queueTemplate', await queueTemplate())
  stderr.write(`The jobs are tested on ${describe(address, own !== undefined)}.\n`)
  return async () => {
    await own?.close()
  }
}

function describe(address: string, isOwn: boolean): string {
  if (address === 'embedded') return 'the embedded queue'
  const { protocol, host } = new URL(address)
  return `${isOwn ? 'a Redis of their own' : 'the queue'} at ${protocol}//${host}`
}
