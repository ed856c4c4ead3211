import type { OpenContender } from '../../bench/scoreboard/contender.ts'
import { ourScan } from '../../bench/scoreboard/our-scan.ts'
import { plainLoop } from '../../bench/scoreboard/plain-loop.ts'
import { runScoreboard } from '../../bench/scoreboard/run-scoreboard.ts'

type Run = { code: number; text: string; rows: Record<string, Row> }

type Row = { loop: Side; scan: Side }

type Side = { lost: string; removed: string; said: string }

/** Runs the scoreboard in this process and takes its table apart. */
export async function scoreboard(scenarios: readonly string[], scan: OpenContender = ourScan, ...args: string[]) {
  let text = ''
  const stdout = { write: (chunk: string) => (text += chunk) }
  const only = scenarios.flatMap((name) => ['--only', name])
  const code = await runScoreboard(
    [...only, ...args],
    { stdout, stderr: { write: () => true } },
    { loop: plainLoop, scan },
  )
  return { code, text, rows: rowsIn(text) } satisfies Run
}

function rowsIn(table: string): Run['rows'] {
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  return Object.fromEntries(
    rows.map((line) => {
      const [, name = '', , ...cells] = line.split('|').map((cell) => cell.trim())
      return [name.replaceAll('`', ''), { loop: sideIn(cells.slice(0, 4)), scan: sideIn(cells.slice(4, -1)) }]
    }),
  )
}

function sideIn(cells: readonly string[]): Side {
  const [lost = '', removed = ''] = cells
  return { lost, removed, said: cells.at(-1) ?? '' }
}
