import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Agent, request } from 'undici'
import * as z from 'zod'
import { createStopwatch, printMeasurement } from '../measure.ts'
import { askedSchema, readTask } from '../messages.ts'

/**
 * A program, the floor under reading: the very requests a contender made, as many at once, each answer parsed as JSON, and
 * nothing kept.
 */
const HEADERS = { Accept: 'application/json', 'Accept-Encoding': 'gzip' }

const { origin, asked = '', concurrency: atOnce, file } = readTask()
const targets = askedSchema.parse(JSON.parse(readFileSync(asked, 'utf8')))
const agent = new Agent({ connections: atOnce })
const inflated = promisify(gunzip)
const envelope = z.object({ data: z.array(z.unknown()) })

const stopwatch = createStopwatch(dirname(file))
let [next, customers] = [0, 0]
await stopwatch.time(() => Promise.all(Array.from({ length: atOnce }, readOn)))
printMeasurement({ ...stopwatch.result(), requests: targets.length, customers })
await agent.close()

async function readOn(): Promise<void> {
  for (let target = targets[next++]; target !== undefined; target = targets[next++]) {
    const { body, headers } = await request(origin + target, { dispatcher: agent, headers: HEADERS })
    const isCompressed = headers['content-encoding'] === 'gzip'
    const text = isCompressed ? String(await inflated(await body.bytes())) : await body.text()
    customers += envelope.parse(JSON.parse(text)).data.length
  }
}
