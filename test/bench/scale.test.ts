import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Figures } from '../../bench/scale/figures.ts'
import { scalePage } from '../../bench/scale/page.ts'
import { keptFigures, writeScale } from '../../bench/scale/write-scale.ts'

const GIGABYTE = 1024 ** 3

/** 1,152 requests and 2.16 s of CPU for 100,000 customers, so that the plan comes out even. */
function aNight() {
  return { wallMs: 1, cpuMs: 2160, peakRssBytes: 200 * 1024 ** 2, writtenBytes: GIGABYTE / 1000, requests: 1152 }
}

function someFigures(): Figures {
  const server = {
    cpuMs: 4320,
    walBytes: GIGABYTE / 500,
    transactions: 216,
    networkBytes: GIGABYTE / 250,
    mostConnections: 3,
  }
  const both = { program: aNight(), server }
  return {
    machine: { node: 'v24' },
    customers: 100_000,
    pageBytes: 32_552,
    sqlite: {
      nights: { load: aNight(), rest: aNight(), changed: aNight() },
      storage: { customers: 40_000_000, list_chunks: 2_000_000, lists: 500_000, changes: 100_000, runs: 400_000 },
    },
    atOnce: { organizations: 4, rest: { ...aNight(), peakRssBytes: 212 * 1024 ** 2 } },
    postgres: {
      version: '15.18',
      nights: { load: both, rest: both, changed: both },
      storage: { customers: 60_000_000 },
    },
  }
}

test('the page on a thousand organizations holds what was measured last', async () => {
  const page = await readFile(new URL('../../docs/SCALE.md', import.meta.url), 'utf8')

  // `npm run bench -- --scale` writes it again.
  expect(page).toBe(scalePage(await keptFigures()))
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('it works out how many organizations must be under way at once', () => {
  const page = scalePage(someFigures())

  // 1,152 requests are 19.2 minutes; 1,000 of them in 360 minutes.
  expect(page).toContain('took 1,152 requests, which is 19.2 minutes')
  expect(page).toContain('= **54 organizations at once**')
  expect(page).toContain('it could read 1,200 of them')
})

test.each([
  ['CPU of the process, SQLite, at rest', '10.0 % of one core'],
  ['CPU of the server, at rest', '20.0 % of one core'],
  ['written to the SQLite file, at rest', '1.0 GB'],
  ['WAL of PostgreSQL, 1 % changed', '2.0 GB'],
  ['between process and server, at rest', '4.0 GB'],
  ['transactions a second, at rest', '10.0'],
])('a night of all of them: %s', (what, figure) => {
  expect(scalePage(someFigures())).toContain(`| ${what} | ${figure} |`)
})

test('memory grows with each organization at once, and storage is that of a customer', () => {
  const page = scalePage(someFigures())

  // 200 MB and 63 times 4 MB.
  expect(page).toContain('**452 MB** (worked out)')
  expect(page).toContain('| customers, with their indexes | 400 B | 600 B |')
  expect(page).toContain('| the list as last read | 25 B | 0 B |')
  expect(page).toContain('| together | 430 B | 600 B |')
})

test('it cannot be measured with no customers', async () => {
  let said = ''
  const output = { stdout: { write: () => true }, stderr: { write: (text: string) => (said += text) } }

  expect(await writeScale(['--size', '0'], output)).toBe(2)
  expect(said).toContain('--size')
})
