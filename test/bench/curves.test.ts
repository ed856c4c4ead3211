import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeCurves } from '../../bench/curves/write-curves.ts'
import type { Measurement } from '../../bench/messages.ts'
import type { Stage } from '../../bench/stage.ts'
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

/** Says what each member costs without running it: `npm run bench` runs them. */
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
  const file = join(temporaryFolder(), 'docs', 'performance.md')
  const output = { stdout: { write: () => true }, stderr: { write: () => true } }

  const sizes = ['--size', '400', '--size', '200']
  expect(await writeCurves([...sizes, '--runs', '1', '--output', file], output, aStageAtOnce)).toBe(0)
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
