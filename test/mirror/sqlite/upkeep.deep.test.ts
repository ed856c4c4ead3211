import Database from 'better-sqlite3'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/sqlite/opening/database.ts'
import { besideUpkeep } from '../../../src/mirror/sqlite/upkeep/beside-upkeep.ts'
import { Upkeep } from '../../../src/mirror/sqlite/upkeep/upkeep.ts'
import { customers, START_MS } from '../../support/builders.ts'
import { aMirror, mirrorPages, tamper } from '../../support/mirror-file.ts'
import { indexesOf } from '../../support/upkeep.ts'

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
