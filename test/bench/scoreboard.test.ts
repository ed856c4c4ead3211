import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { OpenContender, Said } from '../../bench/scoreboard/contender.ts'
import { ourScan } from '../../bench/scoreboard/our-scan.ts'
import { plainLoop } from '../../bench/scoreboard/plain-loop.ts'
import { runScoreboard } from '../../bench/scoreboard/run-scoreboard.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

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

test('a proof without reading a listed customer is reported, even if the copy has that customer from before', async () => {
  const blind = tampered(({ spendNight }) => ({
    spendNight: async (listRead) => {
      const said = await spendNight(listRead)
      return { ...said, pages: said.pages.map((page) => page.slice(1)) }
    },
  }))
  const { code, text } = await scoreboard(['still'], blind, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 2 (proven): 1 customer never read')
})

test('a settled scan owes the customers who kept their places, and those it read, and no others', async () => {
  const settled = (change: (said: Said) => Partial<Said>) =>
    tampered(({ spendNight }) => ({
      spendNight: async (listRead) => {
        const said = await spendNight(listRead)
        return { ...said, claim: 'settled', word: 'settled', ...change(said) }
      },
    }))
  const withoutFirst = settled(({ pages }) => ({ pages: pages.map((page) => page.slice(1)) }))
  const forgetful: OpenContender = async (...terms) => {
    const honest = await settled(() => ({}))(...terms)
    return { ...honest, active: () => new Set([...honest.active()].slice(1)) }
  }

  const honest = await scoreboard(
    ['still'],
    settled(() => ({})),
    '--customers',
    '30',
  )
  expect(honest).toMatchObject({ code: 0, rows: { still: { scan: { lost: '0', said: 'settled' } } } })
  const blind = await scoreboard(['still'], withoutFirst, '--customers', '30')
  expect(blind.code).toBe(1)
  expect(blind.text).toContain('still, night 2 (settled): 1 customer never read')
  const lost = await scoreboard(['still'], forgetful, '--customers', '30')
  expect(lost.text).toContain('still, night 1 (settled): 1 customer lost')
  // Here no customer keeps a place.
  const shuffled = await scoreboard(['shuffle'], withoutFirst, '--customers', '30')
  expect(shuffled).toMatchObject({ code: 0, rows: { shuffle: { scan: { lost: '0' } } } })
})

test('a listed customer that was removed from the copy is reported as wrongly removed', async () => {
  let night = 0
  const careless = tampered(({ active, spendNight }) => ({
    active: () => (night < 3 ? active() : new Set([...active()].slice(1))),
    spendNight: async (listRead) => {
      const said = await spendNight(listRead)
      night += 1
      return said
    },
  }))
  const { code, text } = await scoreboard(['still'], careless, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 3 (proven): 1 customer removed though listed')
})

test('--json writes the numbers and the verdict, and --markdown prints the table alone', async () => {
  const file = join(temporaryFolder(), 'scores.json')
  const { text } = await scoreboard(['still'], ourScan, '--customers', '30', '--json', file, '--markdown')

  expect(
    text
      .trimEnd()
      .split('\n')
      .every((line) => line.startsWith('|')),
  ).toBe(true)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const score = z.looseObject({ lost: z.literal(0), wronglyRemoved: z.literal(0), requests: z.int().min(4) })
  const line = z.looseObject({ scenario: z.literal('still'), loop: score, scan: score })
  const document = z.looseObject({ customers: z.literal(30), violations: z.tuple([]), scenarios: z.tuple([line]) })
  expect(document.safeParse(JSON.parse(readFileSync(file, 'utf8')))).toMatchObject({ success: true })
})

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
