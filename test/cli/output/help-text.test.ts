import { expect, test } from 'vitest'
import { helpColumns, wrapHelp } from '../../../src/cli/program.ts'

test.each([
  [undefined, 80],
  [200, 80],
  [100, 100],
  [60, 60],
  [10, 40],
])('help on %s columns has lines of at most %d', (columns, expected) => {
  expect(helpColumns(columns)).toBe(expected)
})

test('paragraphs and rows are wrapped, each below its beginning; short ones and commands stay as they are', () => {
  const text = [
    'The worker takes the job; the command only asks for it, and',
    'ends at once.',
    '',
    'Short',
    'lines.',
    '',
    'Examples:',
    '  $ customer-mirror export --format csv --output customers.csv',
    '      all customers as a file that a spreadsheet opens',
    '',
    '  5  try again later: the disk is full, or the queue',
  ].join('\n')

  expect(wrapHelp(text, 40).split('\n')).toEqual([
    'The worker takes the job; the command',
    'only asks for it, and ends at once.',
    '',
    'Short',
    'lines.',
    '',
    'Examples:',
    '  $ customer-mirror export --format csv --output customers.csv',
    '      all customers as a file that a',
    '      spreadsheet opens',
    '',
    '  5  try again later: the disk is full,',
    '     or the queue',
  ])
})
