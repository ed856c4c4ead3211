import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { PRESETS, recipeOf, signedHeaders, stringToSign, templateProblem } from '../../src/signing/signing.ts'

const CREDENTIALS = { apiKey: 'ak_live_123', secret: 'whsec_test_4f3c2b1a' }
const MOMENT = { unixMs: 1_700_000_000_000 }
const REQUEST = { method: 'GET', url: new URL('https://acme.orders.example.com/api/v1/customers?page=2&per_page=100') }

test.each([
  ['method-target-ts-body-lf', 'c7c770b86481907e0eced2ea30d65950179b244c120530e375719a72bb6f86bd'],
  ['method-path-ts-body-lf', 'c2ed599f14994d01d46a155b935e6d69a33241ff3c5f88f1124a55455b425735'],
  ['ts-method-target-body', '64c58f4f28198e1c54bfe4610d7a1acb6c1f729daa14b162a4f4a948b9752694'],
  ['laravel-path', 'd30feaf2147f62bac508acb7fc19ac6d608262e04c50f45797adc95a8f5fdbdf'],
] as const)('the published vector of %s comes out', (preset, expected) => {
  expect(signedHeaders(REQUEST, CREDENTIALS, MOMENT, recipeOf(preset))).toEqual({
    'X-API-Key': 'ak_live_123',
    'X-Timestamp': '1700000000',
    'X-Signature': expected,
  })
})

test('every token has its value', () => {
  const [, tokens = ''] = /known are (.*)/.exec(templateProblem('{none}') ?? '') ?? []
  const template = tokens.replaceAll(/\{(\w+)\}/g, '$1={$1}')
  const recipe = { ...recipeOf('ts-body'), template }
  const request = { method: 'get', url: new URL('https://acme.example.com:8443/a/b?x=1&y=%20'), body: '{}' }
  expect(stringToSign(request, 'key', { ...MOMENT, nonce: 'n0' }, recipe)).toBe(
    'METHOD=GET path=/a/b path_noslash=a/b target=/a/b?x=1&y=%20 query=x=1&y=%20 ' +
      'url=https://acme.example.com:8443/a/b?x=1&y=%20 host=acme.example.com:8443 ts=1700000000 body={} ' +
      'body_sha256=44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a api_key=key nonce=n0',
  )
})

test.each([
  ['s', '1700000000'],
  ['ms', '1700000000999'],
  ['iso', '2023-11-14T22:13:20.999Z'],
] as const)('the timestamp as %s is the one signed and the one sent', (timestamp, expected) => {
  const recipe = { ...recipeOf('ts-body'), timestamp }
  const moment = { unixMs: 1_700_000_000_999 }
  expect(signedHeaders(REQUEST, CREDENTIALS, moment, recipe)['X-Timestamp']).toBe(expected)
  expect(stringToSign(REQUEST, '', moment, recipe)).toBe(expected)
})

test.each([
  ['utf8', 'text'],
  ['hex', '74657874'],
  ['base64', 'dGV4dA=='],
  ['base64url', 'dGV4dA'],
] as const)('a secret written in %s gives the key it stands for', (secretEncoding, secret) => {
  const expected = createHmac('sha256', 'text').update('1700000000').digest('hex')
  const recipe = { ...recipeOf('ts-body'), secretEncoding }
  expect(signedHeaders(REQUEST, { apiKey: '', secret }, MOMENT, recipe)['X-Signature']).toBe(expected)
})

test('a nonce is sent only when the template signs it', () => {
  const moment = { ...MOMENT, nonce: 'n0' }
  const withNonce = { ...recipeOf('ts-body'), template: '{ts}{nonce}' }
  expect(signedHeaders(REQUEST, CREDENTIALS, moment, withNonce)['X-Nonce']).toBe('n0')
  expect(signedHeaders(REQUEST, CREDENTIALS, moment, recipeOf('ts-body'))).not.toHaveProperty('X-Nonce')
})

test('a template without {ts} or with an unknown token is refused, and no preset is', () => {
  for (const template of ['{METHOD}', '']) expect(templateProblem(template)).toMatch(/must contain \{ts\}/)
  expect(templateProblem('{ts}{Method}')).toMatch(/unknown token \{Method\}/)
  for (const template of Object.values(PRESETS)) expect(templateProblem(template)).toBeUndefined()
})

test.each([
  ['}{ts}{', '}1700000000{'],
  ['{{ts}}', '{1700000000}'],
  ['{ts}$&{METHOD}$1', '1700000000$&GET$1'],
])('in the template %j only known tokens are replaced', (template, expected) => {
  expect(stringToSign(REQUEST, 'key', MOMENT, { ...recipeOf('ts-body'), template })).toBe(expected)
})
