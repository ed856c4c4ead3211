import { existsSync, fstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { failedText } from '../../../src/cli/output/run-words.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { listCopiesLeft, olderCopies } from '../../../src/copies/older-files.ts'
import { publishCopies } from '../../../src/copies/publish.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import type { Mirror } from '../../../src/store/mirror.ts'
import { aMirrorOf, CLOCKS, night, organizationsOf, quickRun } from '../../store/nights.ts'
import { anEnding, customerId, customers, START_MS } from '../../support/builders.ts'
import { failOnDisk, heldPipe } from '../../support/failing-disk.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfTwo, aPlan, aSmallMirror, aSplitPlan, publishAll, staleCopies } from '../../support/publishing.ts'
import { anAwayOrganization, aWorkplace } from '../../support/workplace.ts'

/** A copy that a publish is about to replace: the mirror has had another night since. */
async function aCopyToReplace() {
  const mirror = await aMirrorOf(customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  await night(mirror, 1, customers(1, 6))
  const folder = dirname(plan.file)
  const withoutTime = (name: string) => name.replace(/-\d.*Z/, '-before')
  return { plan, namesThere: () => readdirSync(folder).map(withoutTime).toSorted() }
}

const WITH_OLDER = ['metadata.json', 'readers-before.db', 'readers.db']
const COUNT = 'SELECT count(*) FROM customers'

test('a reader who has the copy from before open goes on reading it', async () => {
  const { plan } = await aCopyToReplace()
  const reader = new Database(plan.file, { readonly: true })
  onTestFinished(() => void reader.close())
  const count = reader.prepare(COUNT).pluck()
  const before = count.get()
  publishAll(plan)

  expect([before, count.get(), valueOf(plan.file, COUNT)]).toEqual([5, 5, 6])
})

test('a copy that the disk did not confirm is said to be in its place, and the one from before has its second name', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  failOnDisk('fsyncSync', (descriptor) => fstatSync(Number(descriptor)).isDirectory())

  const done = publishCopies(plan)
  const message = expect.stringMatching(/readers\.db: is in its place, but the disk/)
  expect(done.failed).toMatchObject([{ code: 'full', message }])
  expect(failedText(done)).toMatch(/^✖ The copy for readers was not finished\. /)
  expect(valueOf(plan.file, COUNT)).toBe(6)
  expect(namesThere()).toEqual(WITH_OLDER)
})

const isUnfinished = (path: unknown) => String(path).endsWith('.unfinished')

test.each([
  ['take the place of the one from before', 'renameSync', 'EIO', /\(rename, EIO\)\. .* unchanged/, isUnfinished],
  ['give it a second name', 'linkSync', 'ENOSPC', /\(link, ENOSPC\)\. .* unchanged/, () => true],
  ['take its place without hard links', 'renameSync', 'EIO', /\(rename, EIO\)\. .* unchanged/, isUnfinished],
] as const)('a copy that cannot %s leaves nothing, and names the first fault', async (what, call, code, said, isIt) => {
  const { plan, namesThere } = await aCopyToReplace()
  const before = readFileSync(plan.file)
  failOnDisk(call, isIt, code)
  if (what.endsWith('hard links')) failOnDisk('linkSync', () => true, 'EPERM')
  const { failed } = publishCopies(plan)

  expect(failed).toMatchObject([{ code: 'full', message: expect.stringMatching(said) }])
  expect(readFileSync(plan.file).equals(before)).toBe(true)
  expect(namesThere()).toEqual(['metadata.json', 'readers.db'])
  failOnDisk('unlinkSync', () => true, 'EROFS')
  expect(publishCopies(plan).failed).toEqual(failed)
})

test('on a disk without hard links the copy from before is moved aside', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  failOnDisk('linkSync', () => true, 'EPERM')
  publishAll(plan)

  expect(namesThere()).toEqual(WITH_OLDER)
})

const IN_THE_WAY = /\.readers\.db\.writing: stands where the lock of/

test.each<[string, code: string, said: RegExp, stand: (file: string, lock: string) => void]>([
  ['another one publishes', 'busy', /another process writes it/, (file) => onTestFinished(lockPlace(file).release)],
  ['a pipe stands where its lock goes', 'usage', IN_THE_WAY, (_, lock) => heldPipe(lock)],
])('while %s, a publish gives up with a clear error, and leaves that as it is', async (_, code, said, stand) => {
  const { plan } = await aCopyToReplace()
  const lock = join(dirname(plan.file), '.readers.db.writing')
  stand(plan.file, lock)

  const message = expect.stringMatching(said)
  expect(publishCopies({ ...plan, lockWaitMs: 10 }).failed).toMatchObject([{ code, message }])
  expect(existsSync(lock)).toBe(true)
})

/* When a copy is to be replaced, and which older ones are kept. */

const forget = (mirror: Mirror) => mirror.forgetCustomer({ organization: 'acme', id: customerId(2), ...CLOCKS })
const retire = async (mirror: Mirror) => (await organizationsOf(mirror.file)).retire('acme', CLOCKS)
const customersIn = (file = '') => valueOf(file, 'SELECT count(*) FROM active_customers')

test.each([
  ['holds a forgotten customer', 4, 0, forget],
  ['has an organization as active that was retired', 0, 0, retire],
  ['lacks a night', 5, 1, (mirror: Mirror) => night(mirror, 1, customers(1, 5))],
])('a copy that %s is stale, no other is, and only one of before a night is kept', async (_, left, kept, change) => {
  const mirror = await aMirrorOfTwo()
  const plan = aSplitPlan(mirror.file, { keep: 3 })
  const file = publishAll(plan).copies[0]?.file ?? ''
  await change(mirror)
  const stale = staleCopies(plan)

  expect(stale).toEqual([file])
  expect(publishAll({ ...plan, only: stale }).copies.map((copy) => copy.file)).toEqual([file])
  expect(staleCopies(plan)).toEqual([])
  expect(customersIn(file)).toBe(left)
  expect(olderCopies(file)).toHaveLength(kept)
})

test('a copy is stale while it is missing, lacks the end of a run or what a quick run changed, is of another mirror, or of the other kind as to personal data', async () => {
  const [mirror, another] = [await aMirrorOf(customers(1, 5)), await aMirror()]
  await night(another, 1, customers(2, 6))
  const plan = aPlan(mirror.file)
  const isStale = (change = {}) => staleCopies({ ...plan, ...change }).length > 0

  expect(isStale()).toBe(true)
  publishAll(plan)
  const changes = [{}, { withoutPersonalData: true }, { mirror: another.file }]
  expect(changes.map(isStale)).toEqual([false, true, true])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  publishAll(plan)
  expect(isStale()).toBe(false)
  await mirror.finishRun(run, anEnding({ status: 'failed' }), START_MS)
  expect(isStale()).toBe(true)
  publishAll(plan)
  for (const [hour, last] of [5, 6].entries()) {
    await quickRun(mirror, 0, customers(1, last), { hour })
    expect(isStale()).toBe(last === 6)
  }
  publishAll(plan)
  expect([isStale(), customersIn(plan.file)]).toEqual([false, 6])
})

test('neither a forgotten customer nor a forgotten organization is kept in an older copy, although a night has passed', async () => {
  const mirror = await aMirrorOfTwo()
  const plan = aPlan(mirror.file, { keep: 3 })
  const kept: number[] = []
  for (const [n, forgetting] of [
    undefined,
    () => forget(mirror),
    async () => (await organizationsOf(mirror.file)).forget('globex', CLOCKS),
    undefined,
  ].entries()) {
    await forgetting?.()
    await night(mirror, 1 + n, customers(3, 6))
    publishAll(plan)
    kept.push(olderCopies(plan.file).length)
  }

  expect(kept).toEqual([0, 0, 0, 1])
})

test('copies after quick runs push no copy of a night out of those that are kept', async () => {
  const mirror = await aMirrorOf(customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  for (const hour of [1, 2]) {
    await quickRun(mirror, 0, customers(1, 5 + hour), { hour })
    publishAll(plan)
  }
  const inTheEvening = olderCopies(plan.file)
  await night(mirror, 1, customers(1, 8))
  publishAll(plan)

  expect(inTheEvening).toEqual([])
  expect(olderCopies(plan.file).map(customersIn)).toEqual([7])
})

test('copies that can be listed no more are those that were there before, and where there is no list at first it is an error', async () => {
  const plan = aPlan(await aSmallMirror())
  publishAll(plan)
  const place = aWorkplace([anAwayOrganization()], { publish: { file: plan.file, keep: 3 } })
  const config = await readConfig({ file: place.config, cwd: '/' })
  const copiesLeft = listCopiesLeft(config, 'acme')
  rmSync(dirname(plan.file), { recursive: true })
  writeFileSync(dirname(plan.file), '')

  expect(copiesLeft()).toEqual({ copies: [plan.file], replaced: [] })
  expect(() => listCopiesLeft(config, 'acme')).toThrow(/not a directory \(\w+, ENOTDIR\)/)
})
