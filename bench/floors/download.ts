import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Agent, request } from 'undici'
import * as z from 'zod'
import { createStopwatch, printMeasurement } from '../measure.ts'
import { askedSchema, readTask } from '../messages.ts'

/**
 * A program, the floor under reading: the very requests a contender made, as many at once, each answer parsed as JSON, and
 * nothing kept.
 */
const HEADERS = { Accept: 'application/json' }

const { origin, asked = '', concurrency: atOnce, file } = readTask()
const targets = askedSchema.parse(JSON.parse(readFileSync(asked, 'utf8')))
const agent = new Agent({ connections: atOnce })
const envelope = z.object({ data: z.array(z.unknown()) })

const stopwatch = createStopwatch(dirname(file))
let [next, customers] = [0, 0]
await stopwatch.time(() => Promise.all(Array.from({ length: atOnce }, readOn)))
printMeasurement({ ...stopwatch.result(), requests: targets.length, customers })
await agent.close()

async function readOn(): Promise<void> {
  for (let target = targets[next++]; target !== undefined; target = targets[next++]) {
    const { body } = await request(origin + target, { dispatcher: agent, headers: HEADERS })
    customers += envelope.parse(await body.json()).data.length
  }
}
