import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stderr } from 'node:process'
import type { TestProject } from 'vitest/node'
import { openEmbedded } from '../../jobs/queue/embedded.ts'
import { chosenQueue } from './queue-choice.ts'
import { startRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The queue the tests run on: an address, or `embedded`. */
    queueAddress: string
    /** A folder with an embedded queue nobody has used yet, to copy: making one takes seconds. */
    queueTemplate: string
  }
}

/** Finds or starts the queue for the tests, and says which it is. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const template = mkdtempSync(join(tmpdir(), 'customer-mirror-queue-'))
  const chosen = chosenQueue()
  const own = chosen === 'own' ? await startRedis() : undefined
  const address = own?.url ?? chosen
  if (address === 'embedded') await openEmbedded(template, 'customer-mirror').then((store) => store.close())
  provide('queueAddress', address)
  provide('queueTemplate', template)
  stderr.write(`The jobs are tested on ${describe(address, own !== undefined)}.\n`)
  return async () => {
    await own?.close()
    rmSync(template, { recursive: true, force: true })
  }
}

function describe(address: string, isOwn: boolean): string {
  if (address === 'embedded') return 'the embedded queue'
  const { protocol, host } = new URL(address)
  return `${isOwn ? 'a Redis of their own' : 'the queue'} at ${protocol}//${host}`
}
