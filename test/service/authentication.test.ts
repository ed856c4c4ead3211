import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findRefusal } from '../../src/service/authentication.ts'
import type { SentRequest } from '../../src/service/authentication.ts'
import {
  DEFAULT_PRESET,
  PRESETS,
  recipeOf,
  SECRET_ENCODINGS,
  signedHeaders,
  SIGNATURE_ENCODINGS,
  TIMESTAMP_FORMS,
} from '../../src/signing/signing.ts'
import type { Recipe } from '../../src/signing/signing.ts'

const NOW_MS = 1_700_000_000_000
const credentials = { apiKey: 'key-of-nobody', secret: Buffer.from('a secret that opens nothing').toString('hex') }
const standard = recipeOf(DEFAULT_PRESET)

/** A request as it arrives, signed at `unixMs` with the recipe the sender holds for right. */
function sent(recipe: Recipe, { unixMs = NOW_MS, secret = credentials.secret, nonce = 'n-1' } = {}): SentRequest {
  const url = new URL('http://127.0.0.1:4010/api/v1/customers?page=2&per_page=100')
  const headers = signedHeaders({ method: 'GET', url }, { ...credentials, secret }, { unixMs, nonce }, recipe)
  const names = recipe.headers
  return {
    method: 'GET',
    url,
    headers: {
      key: headers[names.key],
      timestamp: headers[names.timestamp],
      signature: headers[names.signature],
      nonce: headers[names.nonce],
    },
  }
}

function refusal(request: SentRequest, recipe: Recipe = standard) {
  return findRefusal(request, credentials, { recipe, nowMs: NOW_MS })
}

const anyRecipe: fc.Arbitrary<Recipe> = fc.record({
  template: fc.constantFrom(...Object.values(PRESETS), '{nonce}.{ts}.{url}', '{host}{ts}{query}{body_sha256}'),
  encoding: fc.constantFrom(...SIGNATURE_ENCODINGS),
  prefix: fc.constantFrom('', 'sha256='),
  secretEncoding: fc.constantFrom(...SECRET_ENCODINGS),
  timestamp: fc.constantFrom(...TIMESTAMP_FORMS),
  headers: fc.constant(standard.headers),
})

test('a request signed by a recipe is accepted by that recipe', () => {
  fc.assert(
    fc.property(anyRecipe, (recipe) => {
      expect(refusal(sent(recipe), recipe)).toBeUndefined()
    }),
  )
})

test('a request signed with another secret is refused by every recipe', () => {
  fc.assert(
    fc.property(anyRecipe, (recipe) => {
      const secret = Buffer.from('another secret of nobody at all').toString('hex')
      expect(refusal(sent(recipe, { secret }), recipe)?.header).toBe('X-Signature')
    }),
  )
})

test.each([
  ['299 seconds behind', -299, undefined],
  ['300 seconds behind', -300, undefined],
  ['301 seconds behind', -301, 'is 301 seconds behind the clock of this service; at most 300 are allowed'],
  ['300 seconds ahead', 300, undefined],
  ['301 seconds ahead', 301, 'is 301 seconds ahead of the clock of this service; at most 300 are allowed'],
])('a timestamp %s', (_, seconds, reason) => {
  expect(refusal(sent(standard, { unixMs: NOW_MS + seconds * 1000 }))?.reason).toBe(reason)
})

test.each([
  ['nothing', undefined, 'is missing'],
  ['an empty text', '', 'is missing'],
  ['a word', 'now', 'cannot be read'],
  ['a fraction', '1700000000.5', 'cannot be read'],
  ['milliseconds', '1700000000000', 'cannot be read'],
  ['spelt otherwise', '01700000000', 'cannot be read'],
])('a timestamp that is %s is refused with the form it must have', (_, timestamp, problem) => {
  const request = sent(standard)
  expect(refusal({ ...request, headers: { ...request.headers, timestamp } })).toEqual({
    header: 'X-Timestamp',
    reason: `${problem}; it must be the time as Unix seconds`,
  })
})

test.each([
  ['signature', 'X-Signature'],
  ['nonce', 'X-Nonce'],
] as const)('a request without its %s is refused', (name, header) => {
  const recipe = { ...standard, template: '{ts}{nonce}' }
  const request = sent(recipe)
  const headers = { ...request.headers, [name]: undefined }
  expect(refusal({ ...request, headers }, recipe)).toEqual({ header, reason: 'is missing' })
})

test('a refused signature names the string to sign, and no key, secret or signature', () => {
  fc.assert(
    fc.property(anyRecipe, (recipe) => {
      const secret = Buffer.from('another secret of nobody at all').toString('hex')
      const request = sent(recipe, { secret })
      const shown = JSON.stringify(refusal(request, recipe))
      expect(shown).toContain('stringToSign')
      const right = sent(recipe).headers.signature
      for (const hidden of [credentials.apiKey, credentials.secret, secret, request.headers.signature, right]) {
        expect(shown).not.toContain(hidden)
      }
    }),
  )
})
