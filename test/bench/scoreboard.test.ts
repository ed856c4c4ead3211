import { expect, test } from 'vitest'
import type { OpenContender } from '../../bench/scoreboard/contender.ts'
import { ourScan } from '../../bench/scoreboard/our-scan.ts'
import { plainLoop } from '../../bench/scoreboard/plain-loop.ts'
import { runScoreboard } from '../../bench/scoreboard/run-scoreboard.ts'

/** Our scan with a contender's word or copy changed on the way to the judge. */
function tampered(change: (honest: Awaited<ReturnType<OpenContender>>) => Partial<typeof honest>): OpenContender {
  return async (organization, terms) => {
    const honest = await ourScan(organization, terms)
    return { ...honest, ...change(honest) }
  }
}

test('where a plain loop loses customers and reports success, the scan loses none, in brief', async () => {
  const { code, text, rows } = await scoreboard(['count-lies'], ourScan, '--customers', '200')

  expect(code).toBe(0)
  expect(rows['count-lies']).toMatchObject({
    loop: { lost: '5', said: 'success' },
    scan: { lost: '0', removed: '0', said: 'proven' },
  })
  expect(text).toContain('reported success in 1 of 1 scenario')
})

test('a customer missing from the copy of a scan that says proven is reported, and ends in 1', async () => {
  const forgetful = tampered(({ active }) => ({ active: () => new Set([...active()].slice(1)) }))
  const { code, text, rows } = await scoreboard(['still'], forgetful, '--customers', '30')

  expect(code).toBe(1)
  expect(rows['still']?.scan).toEqual({ lost: '1', removed: '0', said: 'proven' })
  expect(text).toContain('it did what it must never do:\n  still, night 1 (proven): 1 customer lost')
})

test('a listed customer that was removed from the copy is reported as wrongly removed', async () => {
  let night = 0
  const careless = tampered(({ active, spendNight }) => ({
    active: () => (night < 3 ? active() : new Set([...active()].slice(1))),
    spendNight: (listRead) => spendNight(listRead).finally(() => (night += 1)),
  }))
  const { code, text } = await scoreboard(['still'], careless, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 3 (proven): 1 customer removed though listed')
})

/** Runs the scoreboard in this process and takes its table apart. */
async function scoreboard(scenarios: readonly string[], scan: OpenContender = ourScan, ...args: string[]) {
  let text = ''
  const stdout = { write: (chunk: string) => (text += chunk) }
  const only = scenarios.flatMap((name) => ['--only', name])
  const code = await runScoreboard(
    [...only, ...args],
    { stdout, stderr: { write: () => true } },
    { loop: plainLoop, scan },
  )
  return { code, text, rows: rowsIn(text) }
}

function rowsIn(table: string): Record<string, { loop: object; scan: object }> {
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  return Object.fromEntries(
    rows.map((line) => {
      const [, name = '', , ...cells] = line.split('|').map((cell) => cell.trim())
      return [name.replaceAll('`', ''), { loop: sideIn(cells.slice(0, 4)), scan: sideIn(cells.slice(4, -1)) }]
    }),
  )
}

function sideIn([lost, removed, ...cells]: readonly string[]): object {
  return { lost, removed, said: cells.at(-1) }
}
