import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envelopeProblem, listEnvelope } from '../../src/source/customers-page.ts'

const META = { current_page: 1, per_page: 15, total: 2 }

function problemWith(envelope: unknown): string | undefined {
  const parsed = listEnvelope.safeParse(envelope)
  return parsed.success ? undefined : envelopeProblem(parsed.error)
}

test('meta may hold only the three fields of the general convention, and links may be missing', () => {
  const parsed = listEnvelope.parse({ success: true, data: [{ id: 1 }, 'anything'], meta: META })
  expect(parsed).toEqual({ success: true, data: [{ id: 1 }, 'anything'], meta: META })
})

test('digits in a string and equal pairs are whole numbers', () => {
  const meta = { current_page: '2', per_page: [45, 45], total: ['7', 7], last_page: '1', from: null, to: null }
  expect(listEnvelope.parse({ success: true, data: [], meta }).meta).toEqual({
    current_page: 2,
    per_page: 45,
    total: 7,
    last_page: 1,
    from: null,
    to: null,
  })
})

test('a list with holes, written as an object, is a list', () => {
  expect(listEnvelope.parse({ success: true, data: { '0': 'a', '2': 'b' }, meta: META }).data).toEqual(['a', 'b'])
})

test.each([
  ['success is missing', { data: [], meta: META }, 'success must be true'],
  ['success is false', { success: false, data: [], meta: META }, 'success must be true'],
  ['success is a word', { success: 'true', data: [], meta: META }, 'success must be true'],
  ['data is null', { success: true, data: null, meta: META }, 'data must be a list'],
  ['data is missing', { success: true, meta: META }, 'data must be a list'],
  ['data is an object', { success: true, data: { id: 'x' }, meta: META }, 'data must be a list'],
  ['meta is missing', { success: true, data: [] }, 'meta must be an object'],
  [
    'current_page is missing',
    { success: true, data: [], meta: { per_page: 1 } },
    'meta.current_page must be a whole number',
  ],
  ['pairs differ', { success: true, data: [], meta: { ...META, total: [1, 2] } }, 'meta.total must be a whole number'],
  [
    'a number is a fraction',
    { success: true, data: [], meta: { ...META, total: 1.5 } },
    'meta.total must be a whole number',
  ],
  [
    'a number is negative',
    { success: true, data: [], meta: { ...META, total: -1 } },
    'meta.total must be a whole number',
  ],
  [
    'a number is a word',
    { success: true, data: [], meta: { ...META, from: 'one' } },
    'meta.from must be a whole number',
  ],
  ['it is a list', [], 'it is not an object'],
  ['it is nothing', null, 'it is not an object'],
])('the contract is broken when %s', (_, envelope, problem) => {
  expect(problemWith(envelope)).toBe(problem)
})

test("no problem ever quotes the service's answer", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), (text) => {
      fc.pre(!'success must be true data must be a list meta must be an object it is not'.includes(text))
      const envelopes = [{ [text]: text }, { success: true, data: { [text]: text }, meta: META }, text]
      for (const envelope of envelopes) expect(problemWith(envelope)).not.toContain(text)
    }),
  )
})
