import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Reader } from '../../src/config/credentials.ts'
import { listen, UNREADABLE } from '../../src/http/server.ts'
import { monotonicMs } from '../../src/machine/timers.ts'
import { errorAnswer, listAnswer } from '../../src/serve/open-api.ts'
import { createServe } from '../../src/serve/serve.ts'
import { serveMirror } from '../../src/serve/served-mirror.ts'
import { BASE_PATH } from '../../src/service/app.ts'
import { errorEnvelope } from '../../src/service/answer.ts'
import { DEFAULT_PRESET, type Recipe, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import { addressOf } from '../support/mirror-reader.ts'

/** A program with a key of its own; it may read acme unless something else is said. */
export function aReader(name: string, settings: Partial<Reader> = {}): Reader {
  const recipe = recipeOf(DEFAULT_PRESET)
  return { name, organizations: ['acme'], apiKey: `key-${name}`, secret: `secret of ${name}`, recipe, ...settings }
}

export const SHOP = aReader('shop')

type Asking = {
  reader?: Reader
  host?: string
  method?: string
  atMs?: number
  nonce?: string
  /** May spoil the headers on the way. */
  change?: (headers: Record<string, string>) => void
}

type Options = { readers?: readonly Reader[]; organizations?: readonly string[]; now?: () => number }

/** Answers for a mirror or a copy until the test ends; every answer for the list is held against its schema. */
export async function aServe(
  place: string,
  { readers = [SHOP], organizations = ['acme', 'globex', 'initech'], now = Date.now }: Options = {},
) {
  const lines: Record<string, unknown>[] = []
  const note = (fields: object, msg?: string) => void lines.push({ ...fields, msg })
  const mirror = serveMirror(addressOf(place), SNAPSHOT_MS)
  const log = { info: note, warn: note }
  const app = createServe({ readers, organizations, mirror, log, nowMs: now, monotonicMs })
  const { origin, close } = await listen(app, { host: '127.0.0.1', port: 0 }, errorEnvelope(400, UNREADABLE))
  onTestFinished(async () => {
    await close()
    await mirror.close()
  })

  async function ask(target: string, asking: Asking = {}) {
    const { reader = readers[0] ?? SHOP, method = 'GET', atMs = now(), nonce = 'once', host, change } = asking
    const url = new URL(`${host === undefined ? origin : `http://${host}`}${BASE_PATH}${target}`)
    const headers = signedHeaders({ method, url }, reader, { unixMs: atMs, nonce }, reader.recipe)
    if (host !== undefined) headers['Host'] = host
    change?.(headers)
    const { status, text, headers: answered } = await send(`${origin}${BASE_PATH}${target}`, method, headers)
    const json: unknown = text === '' ? undefined : JSON.parse(text)
    const list = status === 200 && method === 'GET' ? listAnswer.parse(json) : NO_LIST
    const refusal = status === 200 ? NO_REFUSAL : errorAnswer.parse(json ?? NO_REFUSAL)
    const ids = list.data.map(({ id }) => id)
    return { status, text, headers: answered, ids, data: list.data, meta: list.meta, links: list.links, ...refusal }
  }

  async function allIds(perPage: number): Promise<string[]> {
    const ids: string[] = []
    for (let page = 1, last = 1; page <= last; page += 1) {
      const answer = await ask(`/customers?per_page=${perPage}&page=${page}`)
      if (answer.status !== 200) throw new Error(answer.text)
      ids.push(...answer.ids)
      last = answer.meta.last_page
    }
    return ids
  }

  const get = async (path: string, method = 'GET') => send(`${origin}${path}`, method, {})
  return { origin, baseUrl: origin + BASE_PATH, ask, allIds, get, lines }
}

/** Requests share a state of the mirror for a second, here for a twentieth of one. */
const SNAPSHOT_MS = 50

const NO_LIST: z.output<typeof listAnswer> = {
  success: true,
  data: [],
  meta: { current_page: 1, from: null, last_page: 1, per_page: 1, to: null, total: 0 },
  links: { first: '', last: '', prev: null, next: null },
}
const NO_REFUSAL: z.output<typeof errorAnswer> = { success: false, error: '', message: '', details: {} }

/** Sends a request as it is written, `Host` included. */
export async function send(url: string, method: string, headers: Record<string, string>) {
  const { statusCode: status, headers: answered, body } = await request(url, { method, headers, reset: true })
  const each = Object.entries(answered).map(([name, value]): [string, string] => [name, String(value)])
  return { status, headers: new Headers(each), text: await body.text() }
}

export const WITH_NONCE: Recipe = {
  ...{ ...recipeOf(DEFAULT_PRESET), template: '{METHOD}\n{url}\n{ts}\n{nonce}' },
  ...{ encoding: 'base64', prefix: 'v1=', timestamp: 'ms' },
}
