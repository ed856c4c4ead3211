import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnsOf, cutText, wrapLines, wrapText } from '../../../src/cli/output/fit-text.ts'

test('text is broken between words', () => {
  expect(wrapText('Check that baseUrl is the final address.', 16)).toEqual([
    'Check that',
    'baseUrl is the',
    'final address.',
  ])
})

test('a word that is longer than the line is broken, and nothing is lost', () => {
  expect(wrapText('GET https://acme.example.com/api', 12)).toEqual(['GET', 'https://acme', '.example.com', '/api'])
})

test('lines of a text that are too long are broken between words, and what follows is indented', () => {
  const text = 'short\n\n  older-list: the newest ones are absent'

  expect(wrapLines(text, 24)).toBe('short\n\n  older-list: the\n    newest ones are\n    absent')
  expect(wrapLines(text, Infinity)).toBe(text)
})

test('a path that is longer than the line is on a line of its own, and whole', () => {
  const path = `/srv/${'customers-of-all-organizations/'.repeat(3)}customers.db`

  expect(wrapLines(`Restored to the mirror ${path}: 3 customers.`, 40)).toBe(
    `Restored to the mirror\n  ${path}:\n  3 customers.`,
  )
})

test('wide letters count as two columns, and combining marks as none', () => {
  expect([columnsOf('客户'), columnsOf('e\u0301'), columnsOf('Zoë 👍')]).toEqual([4, 1, 6])
})

test.each([
  ['✅', 2],
  ['⚡', 2],
  ['🀄', 2],
  ['🇫🇷', 2],
  ['🌡', 1],
  ['ｶ', 1],
  ['カ', 2],
  ['か\u3099', 2],
  ['हिन्दी', 5],
  ['தமிழ்', 4],
])('%s takes %i columns', (text, columns) => {
  expect(columnsOf(text)).toBe(columns)
})

test('for any text, no line is too long and nothing is lost; a cut text fits', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 30 }), (text, width) => {
      const lines = wrapText(text, width)

      for (const line of [...lines, cutText(text, width)]) expect(columnsOf(line)).toBeLessThanOrEqual(width)
      expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
    }),
  )
})

test.each([
  '  customer-mirror removals approve 12',
  '  3. customer-mirror check --config shops.yaml',
  '    fix: chmod 600 /run/secrets/acme-key',
])('a command stays whole, to be copied: %s', (line) => {
  expect(wrapLines(line, 24)).toBe(line)
})
