import { type GroupResult, ratiosOf, type Row, sharesOf, type Spread, spreadOf } from './results.ts'
import type { Verdict } from './targets.ts'

/** Where the results and the talk go. */
export type Output = { stdout: Writer; stderr: Writer }
type Writer = { write(text: string): unknown }

/** What was measured of a group, as a table. Ratios compare what ran in the same round. */
export function groupTable(result: GroupResult, all: readonly GroupResult[]): string {
  const times = ['seconds: least', 'median', 'most']
  const header = ['', ...times, 'CPU s/M', 'peak MB', 'bytes/row', 'requests', 'longest turn ms']
  const rows = result.rows.flatMap((row) => [
    rowOf(row, result),
    ...row.floors.flatMap((over) => ratioLine(row, over, all)),
  ])
  const notes = (result.notes ?? []).map((note) => `  ${note}\n`)
  return `${result.name}: ${result.about}\n${aligned([header, ...rows])}${notes.join('')}`
}

/** What became of the targets. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const judged = verdicts.map(({ title, limit, measured, unit, met, farOutside }) => {
    const outcome = farOutside ? 'missed by far' : 'missed'
    return [title, `at most ${amountText(limit, unit)}`, amountText(measured, unit), met ? 'ok' : outcome]
  })
  return `targets\n${aligned([['', 'target', 'measured', ''], ...judged])}`
}

/** Text in columns: the first to the left, numbers to the right. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const width = (column: number) =>
    Math.max(...rows.map((row) => (row.length > column ? (row[column] ?? '').length : 0)))
  const lines = rows.map((row) =>
    row.map((text, column) => (column === 0 ? text.padEnd(width(0)) : text.padStart(width(column)))).join('  '),
  )
  return lines.map((line) => `  ${line.trimEnd()}\n`).join('')
}

function rowOf({ name, measurements }: Row, group: GroupResult): string[] {
  const of = (pick: (measurement: Row['measurements'][number]) => number | undefined) =>
    spreadOf(measurements.flatMap((measurement) => pick(measurement) ?? []))
  const seconds = of(({ wallMs }) => wallMs / 1000)
  // Milliseconds per customer are thousands of seconds per million.
  const cpu = spreadOf(sharesOf([group], name, 'cpuMs', 'customers'))
  const written = spreadOf(sharesOf([group], name, 'writtenBytes', 'customers'))
  return [
    name,
    ...spreadTexts(seconds, 3),
    digits(cpu && cpu.median * 1000, 2),
    digits(of(({ peakRssBytes }) => peakRssBytes && peakRssBytes / 1024 ** 2)?.median, 0),
    digits(written?.median, 0),
    digits(of(({ requests }) => requests)?.median, 0),
    digits(of(({ longestBlockMs }) => longestBlockMs)?.median, 0),
  ]
}

/** Nothing where the floor was not measured. */
function ratioLine({ name }: Row, over: readonly string[], all: readonly GroupResult[]): string[][] {
  const spread = spreadOf(ratiosOf(all, { of: name, over }))
  return spread === undefined ? [] : [[`  × ${over.join(' + ')}`, ...spreadTexts(spread, 2)]]
}

function spreadTexts(spread: Spread | undefined, places: number): string[] {
  return [digits(spread?.min, places), digits(spread?.median, places), digits(spread?.max, places)]
}

function digits(value: number | undefined, places: number): string {
  return value === undefined ? '–' : value.toFixed(places)
}

function amountText(value: number, unit: Verdict['unit']): string {
  return unit === '×' ? `${value.toFixed(2)} ×` : `${value.toFixed(0)} ${unit}`
}
