import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { failedText } from '../../../src/cli/output/run-words.ts'
import { argumentsOf } from '../../../src/machine/process-apart.ts'
import { publishCopies } from '../../../src/copies/publish.ts'
import { publishApart, type PublishPlan } from '../../../src/copies/publish-plan.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { failOnDisk, failToFlushFolders } from '../../support/failing-disk.ts'
import { listUnfinished, lockPlace } from '../../../src/copies/written-file.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { aPlan, publishAll, PUBLISHED_FILES } from '../../support/publishing.ts'
import { seeds } from '../../support/seeds.ts'

const PROGRAM = argumentsOf('report/publish-process')
const CUSTOMERS = 800
const KILLS = seeds(40, { least: 1, every: 40 })

test('killed at any moment there is the copy from before or the new one, and a reader who has one open goes on reading', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, CUSTOMERS, { name: 'Edition 0' }))
  const plan = aPlan(mirror.file, { keep: 2 })
  const beganMs = performance.now()
  publishAll(plan)
  const tookMs = performance.now() - beganMs
  const reader = new Database(plan.file, { readonly: true })
  onTestFinished(() => void reader.close())
  let seen = 0
  for (let kill = 1; kill <= KILLS; kill += 1) {
    tamper(mirror.file, 'UPDATE customers SET name = ?', `Edition ${kill}`)
    // At moments spread over the whole of it, the same ones every time.
    await publishAndKill(plan, tookMs * 1.3 * ((kill * 0.618_033_988_75) % 1))
    const now = soundEdition(plan.file)
    expect([seen, kill], 'a copy is of before or of now, never of earlier').toContain(now)
    seen = now
    expect(reader.prepare('SELECT DISTINCT name FROM customers').pluck().all()).toEqual(['Edition 0'])
    for (const name of readdirSync(dirname(plan.file)).filter((each) => each.endsWith('.db')))
      soundEdition(join(dirname(plan.file), name))
  }
  publishAll(plan)
  const names = readdirSync(dirname(plan.file))

  expect(listUnfinished(plan.file)).toEqual([])
  expect(names.length).toBeLessThanOrEqual(6)
  expect(soundEdition(plan.file)).toBe(KILLS)
})

/** Publishes in a process of its own, and kills it so long after it has begun to write. */
async function publishAndKill(plan: PublishPlan, killAfterMs: number): Promise<void> {
  const child = spawn(process.execPath, PROGRAM, { stdio: ['pipe', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  child.stdin.end(JSON.stringify([plan]))
  const leftBehind = listUnfinished(plan.file)
  const isWriting = () => listUnfinished(plan.file).some((path) => !leftBehind.includes(path))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  // It starts for a tenth of a second, and writes for less.
  while (!isWriting() && !isOver()) await sleep(1)
  const beganMs = performance.now()
  while (performance.now() - beganMs < killAfterMs && !isOver()) await nextTurn()
  child.kill('SIGKILL')
  await exited
}

/** Which edition a copy is of: sound, whole, and of one edition alone. */
function soundEdition(file: string): number {
  expect(valueOf(file, 'PRAGMA quick_check')).toBe('ok')
  const found = rowsOf(file, 'SELECT name, count(*) AS rows FROM customers GROUP BY name')
  expect(found).toEqual([{ name: found[0]?.['name'], rows: CUSTOMERS }])
  expect(valueOf(file, 'SELECT customers FROM manifest')).toBe(CUSTOMERS)
  return Number(String(found[0]?.['name']).replace('Edition ', ''))
}

/** A copy that a publish is about to replace: the mirror has had another night since. */
async function aCopyToReplace() {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  await night(mirror, 1, customers(1, 6))
  const folder = dirname(plan.file)
  return {
    plan,
    namesThere: () =>
      readdirSync(folder)
        .map((name) => name.replace(/-\d.*Z/, '-before'))
        .toSorted(),
  }
}

const WITH_OLDER = ['metadata.json', 'readers-before.db', 'readers.db']

test('a copy that the disk did not confirm is said to be in its place, and the one from before has its second name', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  failToFlushFolders()

  const done = publishCopies(plan)
  const message = expect.stringMatching(/readers\.db: is in its place, but the disk/)
  expect(done.failed).toMatchObject([{ code: 'full', message }])
  expect(failedText(done)).toMatch(/^✖ The copy for readers was not finished\. /)
  expect(valueOf(plan.file, 'SELECT count(*) FROM customers')).toBe(6)
  expect(namesThere()).toEqual(WITH_OLDER)
})

test.each([
  [
    'take the place of the one from before',
    'renameSync',
    'EIO',
    /\(rename, EIO\)\. What was there before is unchanged/,
  ],
  ['give a second name to the one from before', 'linkSync', 'ENOSPC', /\(link, ENOSPC\)\. .* unchanged\./],
] as const)('a copy that cannot %s leaves nothing behind, and names the first failure', async (_, call, code, said) => {
  const { plan, namesThere } = await aCopyToReplace()
  const before = readFileSync(plan.file)
  failOnDisk(call, () => true, code)
  const { failed } = publishCopies(plan)

  expect(failed).toMatchObject([{ code: 'full', message: expect.stringMatching(said) }])
  expect(readFileSync(plan.file).equals(before)).toBe(true)
  expect(namesThere()).toEqual(PUBLISHED_FILES)
  failOnDisk('unlinkSync', () => true, 'EROFS')
  expect(publishCopies(plan).failed).toEqual(failed)
})

test('on a disk without hard links the copy from before is moved aside', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  failOnDisk('linkSync', () => true, 'EPERM')
  publishAll(plan)

  expect(namesThere()).toEqual(WITH_OLDER)
})

test('two at once do not disturb each other: the second waits, or gives up with a clear error', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  const { signal } = new AbortController()
  const all = await Promise.all([1, 2].map(() => publishApart([{ ...plan, lockWaitMs: 60_000 }], { signal })))

  expect(all.map(({ failed }) => failed)).toEqual([[], []])
  expect(namesThere()).toEqual(['metadata.json', 'readers-before.db', 'readers-before.db', 'readers.db'])
  const lock = lockPlace(plan.file)
  onTestFinished(lock.release)
  expect(publishCopies({ ...plan, lockWaitMs: 10 }).failed).toMatchObject([
    { code: 'busy', message: expect.stringContaining('another process writes it') },
  ])
})
