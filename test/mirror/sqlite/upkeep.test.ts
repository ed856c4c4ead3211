import Database from 'better-sqlite3'
import { readFileSync, renameSync, statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLiveMirror } from '../../../jobs/run/live-mirror.ts'
import { openDatabase } from '../../../src/mirror/sqlite/database.ts'
import { besideUpkeep, Upkeep } from '../../../src/mirror/sqlite/upkeep/upkeep.ts'
import { customers, START_MS } from '../../support/builders.ts'
import { eventually } from '../../support/eventually.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../../support/mirror-file.ts'

const indexesOf = (file: string) =>
  rowsOf(file, `SELECT name FROM sqlite_schema WHERE name IN ('customers_by_email', 'customers_by_update')`)

test('while the thread builds indexes, transactions wait and the event loop goes on', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 5)])
  for (const { name } of indexesOf(mirror.file)) tamper(mirror.file, `DROP INDEX ${String(name)}`)
  const [db, program] = [openDatabase(mirror.file, 'write'), new Database(mirror.file)]
  const upkeep = new Upkeep(db, mirror.file)
  const patient = besideUpkeep(mirror, upkeep)
  program.exec('BEGIN IMMEDIATE')

  // It waits for this lock, in the thread.
  const indexing = upkeep.index()
  let turn = 0
  const count = () => {
    turn += 1
    if (upkeep.closed !== undefined || started.length < 3) setImmediate(count)
  }
  setImmediate(count)
  const started: number[] = []
  const starting = ['globex', 'initech', 'umbrella'].map(async (organization) => {
    await patient.startRun({ organization, trigger: 'sync', nowMs: START_MS })
    started.push(turn)
  })
  for (let looks = 0; looks < 100; looks += 1) await nextTurn()

  expect(started, 'they wait, and this test goes on').toEqual([])
  program.exec('COMMIT')
  expect(await indexing).toBe(true)
  await Promise.all(starting)
  expect(new Set(started).size, 'each goes on in a turn of its own').toBe(3)
  expect(indexesOf(mirror.file)).toHaveLength(2)
  await upkeep.close()
  for (const open of [db, program]) open.close()
})

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
