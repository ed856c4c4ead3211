import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { DAY_MS } from './nights.ts'
import { prune, nightsOfRenames } from '../support/pruned-nights.ts'

test.skipIf(sqliteAlone.readersOfTheFile)(
  'an export of changes or of a time before the horizon is refused, from the mirror and from a copy of it',
  async () => {
    const mirror = await nightsOfRenames(8)
    await prune(mirror, { changesMs: 3 * DAY_MS }, 8)
    const { file: copy = '' } = publishAll(aPlan(mirror.file)).copies[0] ?? {}
    const cwd = dirname(mirror.file)
    const ends = []
    for (const file of [mirror.file, copy]) {
      const run = async (...args: string[]) => (await runCli(['export', '--mirror', file, ...args], { cwd })).code
      ends.push([
        await run('--format', 'jsonl', '--changes-since', '3'),
        await run('--format', 'jsonl', '--changes-since', '4'),
        await run('--format', 'csv', '--as-of', '2026-01-09T12:00:00Z'),
        await run('--format', 'csv', '--as-of', '2026-01-10T12:00:00Z'),
      ])
    }

    expect(ends).toEqual([
      [2, 0, 2, 0],
      [2, 0, 2, 0],
    ])
  },
)
