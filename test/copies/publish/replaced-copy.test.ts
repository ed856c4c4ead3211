import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { failedText } from '../../../src/cli/output/run-words.ts'
import { publishCopies } from '../../../src/copies/publish.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { failOnDisk, failToFlushFolders } from '../../support/failing-disk.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aPlan, publishAll, PUBLISHED_FILES } from '../../support/publishing.ts'

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
  failToFlushFolders()

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
] as const)(
  'a copy that cannot %s leaves nothing behind, and names the first failure',
  async (what, call, code, said, isIt) => {
    const { plan, namesThere } = await aCopyToReplace()
    const before = readFileSync(plan.file)
    failOnDisk(call, isIt, code)
    if (what.endsWith('hard links')) failOnDisk('linkSync', () => true, 'EPERM')
    const { failed } = publishCopies(plan)

    expect(failed).toMatchObject([{ code: 'full', message: expect.stringMatching(said) }])
    expect(readFileSync(plan.file).equals(before)).toBe(true)
    expect(namesThere()).toEqual(PUBLISHED_FILES)
    failOnDisk('unlinkSync', () => true, 'EROFS')
    expect(publishCopies(plan).failed).toEqual(failed)
  },
)

test('on a disk without hard links the copy from before is moved aside', async () => {
  const { plan, namesThere } = await aCopyToReplace()
  failOnDisk('linkSync', () => true, 'EPERM')
  publishAll(plan)

  expect(namesThere()).toEqual(WITH_OLDER)
})

test('while another one publishes, a publish gives up with a clear error', async () => {
  const { plan } = await aCopyToReplace()
  const lock = lockPlace(plan.file)
  onTestFinished(lock.release)
  expect(publishCopies({ ...plan, lockWaitMs: 10 }).failed).toMatchObject([
    { code: 'busy', message: expect.stringContaining('another process writes it') },
  ])
})
