import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import type { Credentials, Recipe } from '../../src/signing/signing.ts'
import { z } from 'zod'

/** The answer to a request, its body read as JSON of either envelope. */
export type Answer = { status: number; headers: Headers; body: Body }
type Body = z.output<typeof bodySchema>

type Asked = { baseUrl: string } & Credentials
type How = { recipe?: Recipe; atMs?: number; nonce?: string; change?: (headers: Record<string, string>) => void }

/** Sends a signed GET for `target` under the organization's base address; `change` may spoil the headers on the way. */
export async function ask(organization: Asked, target: string, how: How = {}): Promise<Answer> {
  const { recipe = recipeOf(DEFAULT_PRESET), atMs = Date.now(), nonce, change } = how
  const url = new URL(organization.baseUrl + target)
  const moment = nonce === undefined ? { unixMs: atMs } : { unixMs: atMs, nonce }
  const headers = signedHeaders({ method: 'GET', url }, organization, moment, recipe)
  change?.(headers)
  return answerOf(await fetch(url, { headers }))
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: bodySchema.parse(JSON.parse(text)) }
}

const customerSchema = z.strictObject({
  id: z.uuidv4(),
  name: z.string(),
  username: z.string(),
  email: z.email(),
  phone: z.string(),
  address: z.string(),
  company_name: z.string(),
  language: z.string(),
  timezone: z.string(),
  created_at: z.iso.datetime(),
})

const listSchema = z.strictObject({
  success: z.literal(true),
  data: z.array(customerSchema),
  meta: z.strictObject({
    current_page: z.int(),
    from: z.int().nullable(),
    last_page: z.int(),
    per_page: z.int(),
    to: z.int().nullable(),
    total: z.int(),
  }),
  links: z.strictObject({ first: z.url(), last: z.url(), prev: z.url().nullable(), next: z.url().nullable() }),
})

const errorSchema = z.strictObject({
  success: z.literal(false),
  error: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.array(z.string())),
})

const bodySchema = z.discriminatedUnion('success', [listSchema, errorSchema])

/** The body of an answer that must be a list. */
export function list({ body }: Answer): z.output<typeof listSchema> {
  return listSchema.parse(body)
}

/** The body of an answer that must be an error. */
export function failure({ body }: Answer): z.output<typeof errorSchema> {
  return errorSchema.parse(body)
}
