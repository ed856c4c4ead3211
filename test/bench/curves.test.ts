import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { performancePage } from '../../bench/curves/page.ts'
import { organizationsANight, SIDE_BY_SIDE } from '../../bench/curves/plan.ts'
import { writeCurves } from '../../bench/curves/write-curves.ts'
import type { Measurement } from '../../bench/messages.ts'
import type { Stage } from '../../bench/stage.ts'
import { BUILT_IN } from '../../src/config/schema.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

/** Two seconds of CPU for a thousand requests, each of a hundred customers in a plain scan and of eighty in a chain. */
function costOf(customers: number) {
  const requests = customers / 80
  const rest: Measurement = {
    ...{ wallMs: requests * 2, cpuMs: requests * 2, requests, customers },
    ...{ peakRssBytes: 100 * 1024 ** 2, writtenBytes: customers * 30, fileBytes: customers * 400 },
  }
  return { customers, rest, load: { ...rest, wallMs: requests * 4 }, plain: { ...rest, requests: customers / 100 } }
}

function pageOf(...sizes: number[]): string {
  const { load, rest } = costOf(800_000)
  const sideBySide = { organizations: 8, customers: 100_000, load, rest }
  return performancePage({ costs: sizes.map(costOf), sideBySide, nightsBefore: 2 }, { node: 'v24' })
}

describe('the page on performance', () => {
  test('shows for every size what it costs', () => {
    const page = pageOf(10_000, 100_000)

    expect(page).toContain('| 10,000 | 0.25 s | 40,000 | 0.25 s | 100 MB | 0.3 MB | 30 B |')
    expect(page).toContain('| 100,000 | 5.00 s | 20,000 | 2.50 s | 100 MB | 2.9 MB | 30 B |')
    expect(page).toContain('changes by a factor of 1.00, and the peak of memory by one of 1.00')
  })

  test('shows requests against customers, and the share of the proof in a night', () => {
    const page = pageOf(10_000, 100_000)

    expect(page).toContain('| 10,000 | 100 | 125 | 25.0 % | 80.0 |')
    // 1250 requests at 60 a minute; 3840 minutes of eight organizations at a time.
    expect(page).toContain('| 100,000 | 20.8 min | 4.2 min | 20.0 % | 2.50 s | 184 |')
    expect(organizationsANight(costOf(100_000))).toBe(184)
  })

  test('works out from what was measured when one worker, and one file, is not enough', () => {
    const page = pageOf(1_000_000)

    // 80 customers a request, 480 requests a minute; 2 ms of each of 8 requests a second.
    expect(page).toContain('that is about 2,300,000 customers an hour')
    expect(page.match(/page(?:s)? is saved alone/g)).toHaveLength(3)
    expect(page).toContain('the same CPU for each request is 1.6 % of one core at rest')
    expect(page).toContain('reads one of about 2,300,000 customers at most')
    // 500 requests a second of the file, 250 in a load, over one a second of an organization.
    expect(page).toContain('At rest that is as many customers a second as 500 organizations')
    expect(page).toContain('in initial syncs as 250;')
    expect(page).toContain('takes 400 bytes of the file, 10,000,000 of them 3.7 GB')
  })

  test('says how many organizations a worker, and a `sync`, mirror at a time', async () => {
    const sync = await readFile(new URL('../../src/cli/output/progress.ts', import.meta.url), 'utf8')

    expect(BUILT_IN.jobs.concurrency).toBe(SIDE_BY_SIDE)
    expect(sync).toContain(`const AT_ONCE = ${SIDE_BY_SIDE}\n`)
  })
})

/** Says what each member costs without running it: its programs are run in bench.test.ts, and here in a deep run. */
function aStageAtOnce(): Stage {
  return {
    run: async ({ dataset: { customers }, start, scan }) => {
      const { load, plain, rest } = costOf(customers)
      return start === 'empty' ? load : scan === 'plain' ? plain : rest
    },
    yesterdaysFile: async () => '',
    clear: async () => {},
  }
}

test('the curves are measured at each size, and the page is written from them', async () => {
  const file = join(temporaryFolder(), 'docs', 'PERFORMANCE.md')
  const output = { stdout: { write: () => true }, stderr: { write: () => true } }

  const sizes = ['--size', '400', '--size', '200']
  const stageIn = inject('isDeep') ? undefined : aStageAtOnce
  expect(await writeCurves([...sizes, '--runs', '1', '--output', file], output, stageIn)).toBe(0)
  const page = await readFile(file, 'utf8')

  expect(page.match(/^\| 200 \|/gm)).toHaveLength(4)
  expect(page).toMatch(/^\| 200 \| 2 \| \d+ \| [\d.]+ % \| [\d.]+ \|$/m)
  // From the smallest size to the largest, in whatever order they are asked for.
  expect(page).toMatch(/^\| 200 \| 2 \|.*\n\| 400 \| 4 \|/m)
  expect(page).toContain('8 organizations of 200 customers')
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test.each([
  ['--size', 'many'],
  ['--runs', '0'],
])('curves cannot be measured with %s %s', async (option, value) => {
  let said = ''
  const output = { stdout: { write: () => true }, stderr: { write: (text: string) => (said += text) } }

  expect(await writeCurves([option, value, '--output', join(temporaryFolder(), 'page.md')], output)).toBe(2)
  expect(said).toContain(option)
})
