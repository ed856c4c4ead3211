import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hrtime } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { failedText } from '../../../src/cli/output/advice.ts'
import { argumentsOf } from '../../../src/machine/process-apart.ts'
import { publishCopies } from '../../../src/copies/publish.ts'
import { publishApart, type PublishPlan } from '../../../src/copies/publish-plan.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { failOnDisk, failToFlushFolders } from '../../support/failing-disk.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { aPlan, publishAll, PUBLISHED_FILES } from '../../support/publishing.ts'
import { seeds } from '../../support/seeds.ts'

const PROGRAM = argumentsOf('report/publish-process')
const CUSTOMERS = 800

test('killed at any moment there is the copy from before or the new one, and a reader who has one open goes on reading', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, CUSTOMERS, { name: 'Edition 0' }))
  const plan = aPlan(mirror.file, { keep: 2 })
  const microseconds = await publishAndKill(plan)
  const reader = new Database(plan.file, { readonly: true })
  onTestFinished(() => void reader.close())
  let seen = 0
  for (let kill = 1; kill <= seeds(40, { least: 2, every: 20 }); kill += 1) {
    tamper(mirror.file, 'UPDATE customers SET name = ?', `Edition ${kill}`)
    await publishAndKill(plan, microseconds * 1.3 * fractionOf(kill))
    const now = soundEdition(plan.file)
    expect([seen, kill], 'a copy is of before or of now, never of earlier').toContain(now)
    seen = now
    expect(reader.prepare('SELECT DISTINCT name FROM customers').pluck().all()).toEqual(['Edition 0'])
    for (const name of readdirSync(dirname(plan.file)).filter((each) => each.endsWith('.db')))
      soundEdition(join(dirname(plan.file), name))
  }
  publishAll(plan)
  const names = readdirSync(dirname(plan.file))

  expect(names.filter((name) => name.endsWith('.unfinished'))).toEqual([])
  expect(names.length).toBeLessThanOrEqual(6)
  expect(soundEdition(plan.file)).toBe(seeds(40, { least: 2, every: 20 }))
})

test('on a disk that fails a copy that the disk did not confirm is said to be in its place, and the one from before has its second name', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  await night(mirror, 1, customers(1, 6))
  failToFlushFolders()

  const done = publishCopies(plan)
  const message = expect.stringMatching(/readers\.db: is in its place, but the disk/)
  expect(done.failed).toMatchObject([{ code: 'full', message }])
  expect(failedText(done)).toMatch(/^✖ The copy for readers was not finished\. /)
  expect(valueOf(plan.file, 'SELECT count(*) FROM customers')).toBe(6)
  expect(readdirSync(dirname(plan.file)).filter((name) => /^readers-.*\.db$/.test(name))).toHaveLength(1)
})

test('on a disk that fails a copy that cannot take the place of the one from before leaves nothing behind, and names the first failure', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  const before = readFileSync(plan.file)
  await night(mirror, 1, customers(1, 6))
  failOnDisk('renameSync', () => true)
  const failed = publishCopies(plan).failed

  expect(failed).toMatchObject([
    { code: 'full', message: expect.stringMatching(/\(rename, EIO\)\. What was there before is unchanged\./) },
  ])
  expect(readFileSync(plan.file).equals(before)).toBe(true)
  expect(readdirSync(dirname(plan.file)).toSorted()).toEqual(PUBLISHED_FILES)
  failOnDisk('unlinkSync', () => true, 'EROFS')
  expect(publishCopies(plan).failed).toEqual(failed)
})

test.each(['ENOSPC'])(
  'on a disk that fails no room for a second name of the copy from before is a full disk, and on one without hard links it is moved aside: %s',
  async (code) => {
    const mirror = await aMirror()
    await night(mirror, 0, customers(1, 5))
    const plan = aPlan(mirror.file, { keep: 2 })
    publishAll(plan)
    await night(mirror, 1, customers(1, 6))
    const repair = failOnDisk('linkSync', () => true, code)

    expect(publishCopies(plan).failed).toMatchObject([
      { code: 'full', message: expect.stringMatching(new RegExp(`\\(link, ${code}\\)\\. .* unchanged\\.`)) },
    ])
    expect(readdirSync(dirname(plan.file)).toSorted()).toEqual(PUBLISHED_FILES)
    repair()
    failOnDisk('linkSync', () => true, 'EPERM')
    publishAll(plan)
    expect(readdirSync(dirname(plan.file)).filter((name) => /^readers-.*\.db$/.test(name))).toHaveLength(1)
  },
)

/**
 * Publishes in a process of its own, and kills it so long after it has begun to write; without a moment it ends by itself.
 * Returns how many microseconds it was writing.
 */
async function publishAndKill(plan: PublishPlan, microseconds = Number.POSITIVE_INFINITY): Promise<number> {
  const child = spawn(process.execPath, PROGRAM, { stdio: ['pipe', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  child.stdin.end(JSON.stringify([plan]))
  const unfinished = () => (existsSync(dirname(plan.file)) ? readdirSync(dirname(plan.file)).filter(isUnfinished) : [])
  const leftBehind = unfinished()
  const isWriting = () => unfinished().some((name) => !leftBehind.includes(name))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  // It starts for a tenth of a second, and writes for less.
  while (!isWriting() && !isOver()) await sleep(1)
  const beganAt = hrtime.bigint()
  const elapsed = () => Number((hrtime.bigint() - beganAt) / 1000n)
  while (elapsed() < microseconds && !isOver()) await nextTurn()
  const took = elapsed()
  child.kill('SIGKILL')
  await exited
  return took
}

function isUnfinished(name: string): boolean {
  return name.endsWith('.unfinished')
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Which edition a copy is of: sound, whole, and of one edition alone. */
function soundEdition(file: string): number {
  expect(valueOf(file, 'PRAGMA quick_check')).toBe('ok')
  const found = rowsOf(file, 'SELECT name, count(*) AS rows FROM customers GROUP BY name')
  expect(found).toEqual([{ name: found[0]?.['name'], rows: CUSTOMERS }])
  expect(valueOf(file, 'SELECT customers FROM manifest')).toBe(CUSTOMERS)
  return Number(String(found[0]?.['name']).replace('Edition ', ''))
}

/** Numbers spread over 0 to 1, the same ones every time. */
function fractionOf(n: number): number {
  return (n * 0.618_033_988_75) % 1
}

test('killed at any moment two at once do not disturb each other: the second waits, or gives up with a clear error', async () => {
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
