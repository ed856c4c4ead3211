import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { OpenContender } from '../../bench/scoreboard/contender.ts'
import { ourScan } from '../../bench/scoreboard/our-scan.ts'
import { plainLoop } from '../../bench/scoreboard/plain-loop.ts'
import { runScoreboard } from '../../bench/scoreboard/run-scoreboard.ts'
import { UsageError } from '../../src/errors.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

type Run = { code: number; text: string; rows: Record<string, Row> }
type Row = { loop: Side; scan: Side }
type Side = { lost: string; removed: string; said: string }

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
  return { code, text, rows: rowsIn(text) } satisfies Run
}

function rowsIn(table: string): Run['rows'] {
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  return Object.fromEntries(
    rows.map((line) => {
      const [, name = '', ...cells] = line.split('|').map((cell) => cell.trim())
      return [name.replaceAll('`', ''), { loop: sideIn(cells.slice(0, 4)), scan: sideIn(cells.slice(4)) }]
    }),
  )
}

function sideIn([lost = '', removed = '', , said = '']: string[]): Side {
  return { lost, removed, said }
}

/** Our scan with a contender's word or copy changed on the way to the judge. */
function tampered(change: (honest: Awaited<ReturnType<OpenContender>>) => Partial<typeof honest>): OpenContender {
  return async (organization, terms) => {
    const honest = await ourScan(organization, terms)
    return { ...honest, ...change(honest) }
  }
}

test('where a plain loop loses customers and reports success, the scan loses none', async () => {
  const { code, text, rows } = await scoreboard(
    ['still', 'insert-delete', 'ties', 'count-lies', 'page-1-always'],
    ourScan,
    '--customers',
    '400',
  )

  expect(code).toBe(0)
  expect(Object.keys(rows)).toHaveLength(5)
  for (const { scan } of Object.values(rows)) expect(scan).toMatchObject({ lost: '0', removed: '0' })
  expect(rows['still']).toMatchObject({ loop: { lost: '0', removed: '0', said: 'success' }, scan: { said: 'proven' } })
  expect(Number(rows['insert-delete']?.loop.lost)).toBeGreaterThan(0)
  expect(Number(rows['insert-delete']?.loop.removed)).toBeGreaterThan(0)
  expect(rows['insert-delete']?.scan.said).toBe('proven')
  expect(rows['count-lies']).toMatchObject({ loop: { lost: '5', said: 'success' }, scan: { said: 'proven' } })
  expect(rows['ties']?.scan.said).toMatch(/^converged \(.*ties/)
  expect(rows['page-1-always']).toMatchObject({ loop: { lost: '300', said: 'success' } })
  expect(rows['page-1-always']?.scan.said).toMatch(/page-mismatch.*300 missing as said/)
  expect(text).toContain('reported success in 4 of 5 scenarios')
  expect(text).toContain('Our scan: 0 lost, 0 wrongly removed, never proven or converged with a row missing')
})

test('a throttled scan waits and is proven, also when two organizations share the limit', async () => {
  const { code, rows } = await scoreboard(['throttle', 'shared-throttle'], ourScan, '--customers', '400')

  expect(code).toBe(0)
  expect(rows['throttle']?.scan.said).toBe('proven')
  expect(rows['shared-throttle']?.scan.said).toBe('proven')
})

test('one unreadable position is reported as a hole, and no other customer is missing', async () => {
  const { code, rows } = await scoreboard(['poison'], ourScan, '--customers', '400')

  expect(code).toBe(0)
  expect(rows['poison']).toMatchObject({ scan: { lost: '0', said: 'unproven (hole); 1 hole; 1 missing as said' } })
})

test('the same seed gives the same table, and another one another', async () => {
  const table = async (seed: string) =>
    (await scoreboard(['insert-delete', 'move'], ourScan, '--concurrency', '1', '--customers', '300', '--seed', seed))
      .text
  const one = await table('a')

  expect(await table('a')).toBe(one)
  expect(await table('b')).not.toBe(one)
})

test('a customer missing from the copy of a scan that says proven is reported, and ends in 1', async () => {
  const forgetful = tampered(({ active }) => ({ active: () => new Set([...active()].slice(1)) }))
  const { code, text, rows } = await scoreboard(['still'], forgetful, '--customers', '30')

  expect(code).toBe(1)
  expect(rows['still']?.scan).toEqual({ lost: '1', removed: '0', said: 'proven' })
  expect(text).toContain('it did what it must never do:\n  still, night 1 (proven): 1 customer lost')
})

test('a customer missing from the copy of a scan that says unproven is lost all the same, if the service sends it', async () => {
  const doubting = tampered(({ active, spendNight }) => ({
    active: () => new Set([...active()].slice(2)),
    spendNight: async (listRead) => ({ ...(await spendNight(listRead)), claim: 'doubtful', word: 'unproven' }),
  }))
  const { code, text } = await scoreboard(['still'], doubting, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 4 (unproven): 2 customers lost')
})

test('a scan that fails every night is not spotless, and one that makes up for it is', async () => {
  const failing = (nights: number) => {
    let night = 0
    return tampered(({ active, spendNight }) => ({
      active: () => (night <= nights ? new Set<string>() : active()),
      spendNight: async (listRead) => {
        const said = await spendNight(listRead)
        night += 1
        return night <= nights ? { ...said, claim: 'failed', word: 'failed' } : said
      },
    }))
  }

  expect(await scoreboard(['still'], failing(3), '--customers', '30')).toMatchObject({
    code: 0,
    rows: { still: { scan: { lost: '0', said: '3 × failed, 1 × proven; 30 missing as said' } } },
  })
  const never = await scoreboard(['still'], failing(4), '--customers', '30')
  expect(never).toMatchObject({ code: 1, rows: { still: { scan: { lost: '30' } } } })
  expect(never.text).toContain('still, night 4 (failed): 30 customers lost')
})

test('a proof without reading a listed customer is reported, even if the copy has that customer from before', async () => {
  const blind = tampered(({ spendNight }) => ({
    spendNight: async (listRead) => {
      const said = await spendNight(listRead)
      return { ...said, read: new Set([...said.read].slice(1)) }
    },
  }))
  const { code, text } = await scoreboard(['still'], blind, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 2 (proven): 1 customer never read')
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

test('a scan that ends by a defect is reported, whatever its copy contains', async () => {
  const broken = tampered(({ spendNight }) => ({
    spendNight: async (listRead) => {
      const failure = { claim: 'failed', word: 'failed', reasons: ['unexpected'], isDefect: true } as const
      return { ...(await spendNight(listRead)), ...failure }
    },
  }))
  const { code, text } = await scoreboard(['still'], broken, '--customers', '30')

  expect(code).toBe(1)
  expect(text).toContain('still, night 1 (failed): a defect of its own, unexpected')
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

test.each([
  ['--only', 'insert-delte', 'did you mean "insert-delete"?'],
  ['--customers', 'many', '--customers must be a whole number from 1 to'],
  ['--concurrency', '0', '--concurrency must be a whole number from 1 to'],
  ['--nights', '7', 'Usage: npm run scoreboard'],
])('%s %s is refused before anything is played', async (option, value, message) => {
  const refused = scoreboard([], ourScan, option, value)

  await expect(refused).rejects.toThrow(UsageError)
  await expect(refused).rejects.toThrow(message)
})

test('the program ends with 2 when it does not understand, and says why on standard error', async () => {
  const program = fileURLToPath(new URL('../../bench/scoreboard.ts', import.meta.url))
  const ended = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [program, '--only', 'nothing'], (error, stdout, stderr) => {
      resolve({ code: error?.code, stdout, stderr })
    })
  })

  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain('There is no scenario "nothing"')
})
