import { z } from 'zod'
import { PROGRAM_VERSION } from '../machine/version.ts'
import { forEachField } from '../model/customer.ts'
import { publicColumns } from '../model/public-tables.ts'
import { HEADERS } from '../signing/signing.ts'

/* What `serve` answers, as schemas: of the document at /openapi.json, and of the tests, which hold each answer against them. */

const meanings = new Map(publicColumns('customers').map(({ name, meaning }) => [name, meaning]))
const field = z.string().nullable()
const customer = z
  .looseObject({ id: z.uuid(), ...forEachField((name) => field.describe(meanings.get(name) ?? name)) })
  .describe('A customer; fields that the specification does not know are passed on.')

export const listAnswer = z.strictObject({
  success: z.literal(true),
  data: z.array(customer).max(100),
  meta: z.strictObject({
    current_page: z.int().min(1),
    from: z.int().min(1).nullable().describe('Position of the first item on this page; null on an empty one'),
    last_page: z.int().min(1),
    per_page: z.int().min(1).max(100),
    to: z.int().min(1).nullable().describe('Position of the last item on this page; null on an empty one'),
    total: z.int().min(0).describe('Customers that match'),
  }),
  links: z.strictObject({ first: z.url(), last: z.url(), prev: z.url().nullable(), next: z.url().nullable() }),
})

export const errorAnswer = z.strictObject({
  success: z.literal(false),
  error: z.string().describe('A code for programs'),
  message: z.string(),
  details: z.record(z.string(), z.array(z.string())).describe('Messages by parameter'),
})

const PARAMETERS = [
  ['per_page', z.int().min(1).max(100).default(15), 'Customers on a page'],
  ['page', z.union([z.int().min(1), z.string()]).default(1), 'The page; the first for a text that is none'],
  ['search', z.string(), 'A part of name, username or e-mail address, in any case, with or without accents'],
  ['language', z.string(), 'The language code'],
] as const

export function openApi() {
  const text = (description: string) => ({ description, schema: { type: 'string' } })
  const answer = (description: string, headers: object = {}, schema = 'Error') => ({
    description,
    headers,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  })
  const waiting = { 'Retry-After': text('Seconds to wait') }
  const isCurrent = {
    'X-Data-As-Of': text('When the scan began that the customers are of'),
    'X-Proof': text('The grade of that scan: proven, settled or unproven'),
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Customers, served from a mirror', version: PROGRAM_VERSION },
    servers: [{ url: '/api/v1' }],
    security: [{ key: [], timestamp: [], signature: [] }],
    paths: {
      '/customers': {
        get: {
          operationId: 'listCustomers',
          summary: 'A page of the active customers, by creation time and id',
          parameters: PARAMETERS.map(([name, schema, description]) => ({
            ...{ name, in: 'query', required: false, description },
            schema: z.toJSONSchema(schema),
          })),
          responses: {
            200: answer('A page', isCurrent, 'List'),
            401: answer('The key is not known, or the signature, its time or its nonce is not right'),
            403: answer('The host name begins with an organization that this key does not open'),
            404: answer('The host name says of none of the organizations of this key that it is asked for'),
            422: answer('A parameter is invalid'),
            429: answer('Too many requests', waiting),
            503: answer('The mirror cannot be read now, or the organization was not read to its end yet', waiting),
          },
        },
      },
    },
    components: {
      schemas: { List: z.toJSONSchema(listAnswer), Error: z.toJSONSchema(errorAnswer) },
      securitySchemes: Object.fromEntries(
        Object.entries(HEADERS).map(([id, name]) => [id, { type: 'apiKey', in: 'header', name }]),
      ),
    },
  }
}
