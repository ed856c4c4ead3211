import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { answeringSchema, datasetSchema, organizationIds, type Answering } from '../messages.ts'
import { servedList, type ServedList } from './served-list.ts'

/**
 * A program: the service in a process of its own, made so fast that it is never what is measured. Pages are slices of
 * records rendered beforehand, compressed ones are kept, and signatures are not verified. Its argument is the dataset; its
 * first line of output says where it listens. It ends when its input does.
 *
 * POST /answering sets how it answers and forgets what was asked; GET /asked returns what was asked since.
 */
const dataset = datasetSchema.parse(JSON.parse(process.argv[2] ?? ''))
let answering: Answering = { latencyMs: 0, gzip: false, edition: 'base' }
const editions = new Map<Answering['edition'], Map<string, ServedList>>()
let lists = listsOf(answering)
let asked: string[] = []
const compressed = new Map<string, Buffer>()

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
  const render = () => list.page(page, size, `http://service.example.com/${match[1]}/api/v1/customers`)
  const isCompressed = answering.gzip && (request.headers['accept-encoding'] ?? '').includes('gzip')
  const body = isCompressed ? compressedOnce(target, render) : render()
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': body.byteLength,
    ...(isCompressed && { 'Content-Encoding': 'gzip' }),
  })
  response.end(body)
}

async function answerDifferently(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const next = answeringSchema.parse(await json(request))
  if (next.edition !== answering.edition) {
    lists = listsOf(next)
    compressed.clear()
  }
  answering = next
  asked = []
  response.end()
}

const LIST = /^\/([\w-]+)\/api\/v1\/customers(?:\?(.*))?$/

/** Each edition is rendered once: members with different ones take turns. */
function listsOf({ edition }: Answering): Map<string, ServedList> {
  const list = (id: string) => servedList({ seed: `bench ${id}`, count: dataset.customers, edition })
  const rendered = editions.get(edition) ?? new Map(organizationIds(dataset).map((id) => [id, list(id)]))
  editions.set(edition, rendered)
  return rendered
}

function compressedOnce(target: string, render: () => Buffer): Buffer {
  const kept = compressed.get(target) ?? gzipSync(render())
  compressed.set(target, kept)
  return kept
}
