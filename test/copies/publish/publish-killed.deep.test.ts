import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { publishApart } from '../../../src/copies/publish-apart.ts'
import type { Answer } from '../../../src/copies/publish-apart.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aPlan, publishAll, PUBLISHED_FILES } from '../../support/publishing.ts'
import { seeds } from '../../support/seeds.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

const PROGRAM = fileURLToPath(new URL('../../../src/copies/publish-process.ts', import.meta.url))
const CUSTOMERS = 800

describe('killed at any moment', () => {
  test('two at once do not disturb each other: the second waits, or gives up with a clear error', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, customers(1, CUSTOMERS))
    const plan = aPlan(mirror.file, { lockWaitMs: 60_000, keep: 5 })
    const { signal } = new AbortController()
    const all = await Promise.all([1, 2, 3].map(() => publishApart([plan], { signal })))

    expect(all.map(({ failed }) => failed)).toEqual([[], [], []])
    expect(readdirSync(dirname(plan.file)).filter((name) => name.endsWith('.db'))).toHaveLength(3)
    const lock = new Database(join(dirname(plan.file), '.readers.db.writing'))
    onTestFinished(() => void lock.close())
    lock.exec('BEGIN EXCLUSIVE')
    const { failed } = await publishApart([{ ...plan, lockWaitMs: 10 }], { signal })
    expect(failed).toMatchObject([{ code: 'busy', message: expect.stringContaining('another process writes it') }])
  })
})

describe('without room', () => {
  test('a limit on the size of files leaves the copy from before, wherever it is reached', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, customers(1, 100))
    const plan = aPlan(mirror.file, { keep: 1 })
    publishAll(plan)
    const before = readFileSync(plan.file)
    await night(mirror, 1, customers(1, CUSTOMERS))
    const whole = publishAll({ ...plan, file: join(temporaryFolder(), 'whole', 'whole.db') }).copies[0]?.bytes ?? 0
    const most = Math.ceil(whole / 1024)
    const ends = new Map<string, number>()
    const steps = seeds(30, { least: 3 })
    for (let step = 1; step <= steps; step += 1) {
      const kilobytes = step === steps ? most + 64 : Math.max(40, Math.floor((most * step) / (steps + 1)))
      const ended = spawnSync('bash', ['-c', `ulimit -f ${kilobytes}; exec "$0" "$1"`, process.execPath, PROGRAM], {
        input: JSON.stringify([plan]),
        encoding: 'utf8',
      })
      const answer: Answer = JSON.parse(ended.stdout)
      const failure = 'error' in answer ? answer.error : answer.published.failed[0]
      const end = failure?.code ?? 'published'
      ends.set(end, (ends.get(end) ?? 0) + 1)
      if (end === 'published') break
      expect(failure?.message).toMatch(/\((\w+, EFBIG|SQLITE_\w+)\)\..* Free some space/)
      expect(readFileSync(plan.file).equals(before)).toBe(true)
      expect(readdirSync(dirname(plan.file)).toSorted()).toEqual(PUBLISHED_FILES)
    }

    expect(Object.fromEntries(ends)).toEqual({ full: steps - 1, published: 1 })
    expect(valueOf(plan.file, 'SELECT count(*) FROM customers')).toBe(CUSTOMERS)
  })
})
