import Database from 'better-sqlite3'
import { readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLiveMirror } from '../../../jobs/run/live-mirror.ts'
import { openDatabase } from '../../../src/mirror/sqlite/opening/database.ts'
import { Upkeep } from '../../../src/mirror/sqlite/upkeep/upkeep.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../../support/mirror-file.ts'
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

test('while another program writes, the runs of a worker wait, and its event loop goes on', async () => {
  const { file } = await aMirror()
  const mirror = await openLiveMirror(file)
  const program = new Database(file)
  onTestFinished(() => {
    program.close()
    return mirror.close()
  })
  const start = (organization: string) => mirror.startRun({ organization, trigger: 'schedule', nowMs: START_MS })
  const underWay = await start('acme')
  program.exec('BEGIN IMMEDIATE')
  let ended = 0
  const count = () => void (ended += 1)

  const verbs = [
    start('globex'),
    mirror.renewLease(underWay, START_MS),
    mirror.savePages(underWay, [aPage(1, customers(1, 5))], START_MS),
  ]
  for (const verb of verbs) void verb.then(count)
  await sleep(10)

  expect(ended).toBe(0)
  program.exec('COMMIT')
  await Promise.all(verbs)
  expect(rowsOf(file, 'SELECT COUNT(*) AS customers FROM customers')).toEqual([{ customers: 5 }])
})

test('a worker that ends waits for no other program', async () => {
  const { file } = await aMirror()
  const mirror = await openLiveMirror(file)
  const program = new Database(file)
  onTestFinished(() => void program.close())
  program.exec('BEGIN IMMEDIATE')

  const starting = mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: START_MS })
  await mirror.close()

  await expect(starting).rejects.toMatchObject({ code: 'busy' })
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
