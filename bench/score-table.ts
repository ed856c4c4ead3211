import type { Score } from './score.ts'

/** How both contenders did with one scenario. */
export type Line = { scenario: string; loop: Score; scan: Score }

/** A table in Markdown, with its columns aligned, so that it can be read as it is. */
export function scoreTable(lines: readonly Line[]): string {
  const rows = lines.map(({ scenario, loop, scan }) => [`\`${scenario}\``, ...cells(loop), ...cells(scan)])
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
  'scenario',
  ...['loop: lost', 'wrongly removed', 'requests', 'it said'],
  ...['scan: lost', 'wrongly removed', 'requests', 'it said'],
]

function isNumeric(column: number): boolean {
  return column % 4 !== 0
}

function cells(score: Score): string[] {
  const numbers = [score.lost, score.wronglyRemoved, score.requests].map((count) => count.toLocaleString('en'))
  return [...numbers, saying(score)]
}

/** E.g. `1 × failed (not-json), 3 × proven; 400 missing as said`. */
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
