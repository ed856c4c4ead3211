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
  const { code, text, row } = await scoreboard('count-lies', ourScan, '200')

  expect(code).toBe(0)
  expect(row).toMatch(/^\| `count-lies` \| 200 \| 5 \| \d+ \| \d+ \| success \| 0 \| 0 \| \d+ \| \S+ × \| proven \|$/)
  expect(text).toContain('reported success in 1 of 1 scenario')
})

test('a customer missing from the copy of a scan that says proven is reported, and ends in 1', async () => {
  const forgetful = tampered(({ active }) => ({ active: () => new Set([...active()].slice(1)) }))
  const { code, text, row } = await scoreboard('still', forgetful, '30')

  expect(code).toBe(1)
  expect(row).toMatch(/ success \| 1 \| 0 \| \d+ \| \S+ × \| proven \|$/)
  expect(text).toContain('it did what it must never do:\n  still, night 1 (proven): 1 customer lost')
})

/** Runs the scoreboard of a scenario in this process: what it prints, and the row of its table. */
async function scoreboard(scenario: string, scan: OpenContender, customers: string) {
  let text = ''
  const output = { stdout: { write: (chunk: string) => (text += chunk) }, stderr: { write: () => true } }
  const args = ['--only', scenario, '--customers', customers]
  const code = await runScoreboard(args, output, { loop: plainLoop, scan })
  const row = text.split('\n').find((line) => line.startsWith('| `'))
  return { code, text, row: row?.replaceAll(/ +/g, ' ') }
}
