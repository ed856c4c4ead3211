import type { Expectation } from './expectations.ts'
import type { Score } from './score.ts'

/** How both contenders did with one scenario. */
export type Line = {
  scenario: string
  customers: number
  loop: Score
  scan: Score
  expectation: Expectation | undefined
}

/** A table in Markdown, with its columns aligned, so that it can be read as it is. */
export function scoreTable(lines: readonly Line[]): string {
  const rows = lines.map(({ scenario, customers, loop, scan }) => [
    `\`${scenario}\``,
    ...[customers.toLocaleString('en'), ...counts(loop), saying(loop)],
    ...[...counts(scan), `${(scan.requests / Math.max(1, loop.requests)).toFixed(2)} ×`, saying(scan)],
  ])
  const widths = HEAD.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const align = (row: readonly string[]): string => {
    const padded = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return isNumeric(column) ? cell.padStart(width) : cell.padEnd(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, column) => (isNumeric(column) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [align(HEAD), align(rule), ...rows.map(align)].join('\n')
}

const HEAD = [
  ...['scenario', 'customers'],
  ...['loop: lost', 'wrongly removed', 'requests', 'it said'],
  ...['scan: lost', 'wrongly removed', 'requests', '× loop', 'it said'],
]

const TEXTS: ReadonlySet<string> = new Set(['scenario', 'it said'])

function isNumeric(column: number): boolean {
  return !TEXTS.has(HEAD[column] ?? '')
}

function counts({ lost, wronglyRemoved, requests }: Score): string[] {
  return [lost, wronglyRemoved, requests].map((count) => count.toLocaleString('en'))
}

/** E.g. `1 × failed (bad-answer), 3 × proven; 400 missing as said`. */
function saying({ claims, holes, missingAsSaid }: Score): string {
  const said = claims.map(({ word, times, reasons }) => {
    const why = reasons.length > 0 ? ` (${reasons.join(', ')})` : ''
    return `${claims.length > 1 ? `${times} × ` : ''}${word}${why}`
  })
  const notes = [
    said.join(', '),
    ...(holes > 0 ? [`${holes} ${holes === 1 ? 'hole' : 'holes'}`] : []),
    ...(missingAsSaid > 0 ? [`${missingAsSaid.toLocaleString('en')} missing as said`] : []),
  ]
  return notes.join('; ')
}
