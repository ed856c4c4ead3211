import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DAY_MS, nightsOfRenames, prune } from './nights.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'

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

describe('in bounded steps', () => {
  test.skipIf(sqliteAlone.wal)(
    'a reader who keeps the WAL busy is waited for briefly, and the next run empties it',
    async () => {
      const mirror = await nightsOfRenames(8)
      const reader = new Database(mirror.file, { readonly: true })
      onTestFinished(() => void reader.close())
      reader.exec('BEGIN')
      reader.prepare('SELECT * FROM changes').all()
      const pruned = await prune(mirror, { changesMs: 4 * DAY_MS }, 8)

      reader.exec('ROLLBACK')
      const next = await prune(mirror, { changesMs: 4 * DAY_MS }, 8)

      expect(pruned).toMatchObject({ changes: 3, isUnfinished: true, error: undefined })
      expect(next).toMatchObject({ changes: 0, isUnfinished: false })
      expect(statSync(`${mirror.file}-wal`).size).toBe(0)
    },
  )
})
