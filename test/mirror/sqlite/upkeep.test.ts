import { readFileSync, renameSync, statSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLiveMirror } from '../../../jobs/run/live-mirror.ts'
import { openDatabase } from '../../../src/mirror/sqlite/database.ts'
import { Upkeep } from '../../../src/mirror/sqlite/upkeep/upkeep.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { aMirror, mirrorPages, tamper } from '../../support/mirror-file.ts'
import { indexesOf } from '../../support/upkeep.ts'

test.each([
  ['a large mirror of a worker', 20_000, 1],
  ['a small one', 5, 0],
])('the indexes of %s', async (_, rowId, times) => {
  const { file } = await aMirror()
  const mirror = await openLiveMirror(file)
  onTestFinished(() => mirror.close())
  await mirrorPages(mirror, [customers(1, 5)])
  tamper(file, 'DROP INDEX customers_by_email')
  tamper(file, `UPDATE customers SET row_id = ${rowId} WHERE row_id = 5`)
  const index = vi.spyOn(Upkeep.prototype, 'index')
  onTestFinished(() => index.mockRestore())

  await mirrorPages(mirror, [customers(1, 5)])

  expect(index).toHaveBeenCalledTimes(times)
  expect(indexesOf(file)).toHaveLength(2)
})

test('a save of a worker says that it waits while the file is closed to it', async () => {
  const mirror = await openLiveMirror((await aMirror()).file)
  onTestFinished(() => mirror.close())
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: START_MS })
  const closed = vi.spyOn(Upkeep.prototype, 'closed', 'get').mockReturnValueOnce(Promise.resolve())
  onTestFinished(() => closed.mockRestore())
  const onWaiting = vi.fn<() => void>()

  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS, onWaiting)

  expect(onWaiting).toHaveBeenCalledTimes(1)
})

test('the WAL is copied by the thread, to its end, while the mirror is open', async () => {
  const { file } = await aMirror()
  const db = openDatabase(file, 'write')
  const upkeep = new Upkeep(db, file, 50)
  db.exec('CREATE TABLE filler (text)')
  const before = statSync(file).size

  db.prepare('INSERT INTO filler SELECT hex(zeroblob(1000)) FROM json_each(?)').run(JSON.stringify(Array(200)))
  upkeep.wrote()

  const look = db.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
  await eventually(
    () => look.get(),
    (wal) => wal !== undefined && wal.log === wal.checkpointed,
  )
  expect(statSync(file).size).toBeGreaterThan(before + 200_000)
  await upkeep.close()
  db.close()
})

test('a file that was put in place of the mirror is left alone', async () => {
  const [{ file }, other] = [await aMirror(), await aMirror()]
  await mirrorPages(other, [customers(1, 5)])
  await other.close()
  for (const { name } of indexesOf(other.file)) tamper(other.file, `DROP INDEX ${String(name)}`)
  const db = openDatabase(file, 'write')
  const upkeep = new Upkeep(db, file)
  const bytes = readFileSync(other.file)
  renameSync(other.file, file)

  expect(await upkeep.index()).toBe(false)

  expect(readFileSync(file).equals(bytes)).toBe(true)
  await upkeep.close()
  db.close()
})
