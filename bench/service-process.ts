import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { below, generateCustomers, seededRandom, type ServiceCustomer } from '../src/service/customers.ts'
import { envelopeOf } from '../src/service/listing.ts'
import { answeringSchema, datasetSchema, organizationIds, type Answering } from './messages.ts'

/**
 * A program: the service in a process of its own, made so fast that it is never what is measured. Pages are slices of
 * records rendered beforehand, and signatures are not verified. Its argument is the dataset; its
 * first line of output says where it listens. It ends when its input does.
 *
 * POST /answering sets how it answers and forgets what was asked; GET /asked returns what was asked since.
 */
const BLOCK = 1000
const NOTHING = Buffer.alloc(0)
const OPENING = Buffer.from('{"success":true,"data":[')
const LIST = /^\/([\w-]+)\/api\/v1\/customers(?:\?(.*))?$/

const dataset = datasetSchema.parse(JSON.parse(process.argv[2] ?? ''))
let answering: Answering = { latencyMs: 0, edition: 'base' }
const editions = new Map<Answering['edition'], Map<string, ServedList>>()
let lists = listsOf(answering)
let asked: string[] = []

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${port}` })}\n`)
})
process.stdin.on('end', () => process.exit()).resume()

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = request.url ?? ''
  if (target === '/answering') return answerDifferently(request, response)
  if (target === '/asked') return void response.end(JSON.stringify(asked))
  const match = LIST.exec(target)
  const list = lists.get(match?.[1] ?? '')
  if (match === null || list === undefined) return void response.writeHead(404).end()
  asked.push(target)
  if (answering.latencyMs > 0) await sleep(answering.latencyMs)

  const query = new URLSearchParams(match[2])
  const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page') ?? 15)]
  const body = pageOf(list, page, size, `http://service.example.com/${match[1]}/api/v1/customers`)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.byteLength }).end(body)
}

async function answerDifferently(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const next = answeringSchema.parse(await json(request))
  if (next.edition !== answering.edition) lists = listsOf(next)
  answering = next
  asked = []
  response.end()
}

/** Each edition is rendered once: members with different ones take turns. */
function listsOf({ edition }: Answering): Map<string, ServedList> {
  const list = (id: string) => rendered(customersOf(`bench ${id}`, edition))
  const known = editions.get(edition) ?? new Map(organizationIds(dataset).map((id) => [id, list(id)]))
  editions.set(edition, known)
  return known
}

/** The rows to change or to leave out are drawn at random, so that they fall on pages as they would in life. */
function customersOf(seed: string, edition: Answering['edition']): ServiceCustomer[] {
  const customers = generateCustomers({ seed, count: dataset.customers })
  if (edition === 'base') return customers
  if (edition === 'new') return [...newAtTop(customers, seed), ...customers]
  const random = seededRandom(`${seed} ${edition}`)
  const isDrawn = () => below(random, 100) === 0
  if (edition === 'gone') return customers.filter(() => !isDrawn())
  return customers.map((customer) => (isDrawn() ? { ...customer, name: `${customer.name} II` } : customer))
}

/** As many customers more as one in a hundred, which stand before all others in the order of the list. */
function newAtTop(customers: readonly ServiceCustomer[], seed: string): ServiceCustomer[] {
  const count = Math.ceil(customers.length / 100)
  return generateCustomers({ seed: `${seed} new`, count }).map((customer, place) => ({
    ...customer,
    created_at: new Date(Date.parse(customers[0]?.created_at ?? '') - (count - place) * 1000).toISOString(),
  }))
}

/**
 * A list whose records were rendered once, so that a page of any size is a slice of bytes and nothing else. `starts` says where each
 * record begins, with the comma before it; its last entry is where one more would.
 */
type ServedList = { total: number; starts: Float64Array; records: Buffer }

function rendered(customers: readonly ServiceCustomer[]): ServedList {
  const total = customers.length
  const starts = new Float64Array(total + 1)
  const blocks: Buffer[] = []
  let length = 0
  for (let from = 0; from < total; from += BLOCK) {
    const texts = customers.slice(from, from + BLOCK).map((customer) => `,${JSON.stringify(customer)}`)
    texts.forEach((text, index) => {
      starts[from + index] = length
      length += Buffer.byteLength(text)
    })
    blocks.push(Buffer.from(texts.join('')))
  }
  starts[total] = length
  return { total, starts, records: Buffer.concat(blocks) }
}

/** The whole body of one page; `address` is the list's own, for the links. */
function pageOf({ total, starts, records }: ServedList, page: number, perPage: number, address: string): Buffer {
  const from = Math.min(total, (page - 1) * perPage)
  const to = Math.min(total, from + perPage)
  const rows = from === to ? NOTHING : records.subarray((starts[from] ?? 0) + 1, starts[to])
  const query = { page, perPage, search: '', language: '' }
  const { meta, links } = envelopeOf(Array.from({ length: to - from }), total, { query, address })
  const tail = `],"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`
  return Buffer.concat([OPENING, rows, Buffer.from(tail)])
}
