import { expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from '../configuration-folder.ts'

test.each([
  ['eight where it is not written', '', 8],
  ['eight where nothing is written in it', 'jobs: {}\n', 8],
  ['as written', 'jobs: { concurrency: 256 }\n', 256],
])('a worker mirrors organizations at the same time: %s', async (_what, written, concurrency) => {
  expect((await configOf(written + acme())).jobs).toEqual({ concurrency })
})

test.each(['0', '257', '2.5', '"8"'])(
  '%s organizations at the same time are reported where they stand',
  async (written) => {
    expect(await mistakesIn(`jobs: { concurrency: ${written} }\n${acme()}`)).toEqual([
      'customer-mirror.yaml:1:22 jobs.concurrency: must be a whole number from 1 to 256',
    ])
  },
)
