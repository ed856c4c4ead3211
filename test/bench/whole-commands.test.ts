import Database from 'better-sqlite3'
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from '../../bench/service/service.ts'
import { equipped, findStarters, type Found } from '../../bench/whole/starters.ts'
import { listedDigest, storedRows } from '../../bench/whole/stored-rows.ts'
import { TARGETS } from '../../bench/targets.ts'
import { syncsOfFew, wholeCommands, wholeName } from '../../bench/whole/commands.ts'
import { listEnvelope } from '../../src/source/page/envelope.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const NOTHING: Found = { Python: undefined, 'Node 20': undefined, PostgreSQL: undefined }

test('a row that differs from what the service lists, or is not there, changes the digest', async () => {
  const service = await startService({ organizations: 1, customers: 150 })
  onTestFinished(() => service.close())
  const answer = await fetch(`${service.origin}/org-1/api/v1/customers?page=1&per_page=150`)
  const { data } = listEnvelope.parse(await answer.json())
  const file = join(temporaryFolder(), 'customers.db')
  const db = new Database(file)
  onTestFinished(() => void db.close())
  db.exec(
    'CREATE TABLE customers (id, name, username, email, phone, address, company_name, language, timezone, created_at)',
  )
  const insert = db.prepare(
    `INSERT INTO customers VALUES
     (@id, @name, @username, @email, @phone, @address, @company_name, @language, @timezone, @created_at)`,
  )
  for (const record of data) insert.run(record)
  const listed = await listedDigest(service.origin, 'org-1', 300)

  expect(storedRows(file, 'by-hand-node')).toEqual({ customers: 150, digest: listed, counts: {} })
  db.exec("UPDATE customers SET timezone = timezone || ' ' WHERE rowid = 150")
  expect(storedRows(file, 'by-hand-node').digest).not.toBe(listed)
  db.exec('UPDATE customers SET timezone = trim(timezone); DELETE FROM customers WHERE rowid = 1')
  expect(storedRows(file, 'by-hand-node')).not.toMatchObject({ digest: listed })
})

test('what a machine lacks is left out, and each missing thing is said in one line', () => {
  const whole = wholeCommands({ organizations: 1, customers: 1000 })
  const names = (found: Found) => equipped(whole, found).members.map(({ name }) => name)

  expect(names({ ...NOTHING, Python: 'python3', 'Node 20': 'node' })).toEqual(whole.members.map(({ name }) => name))
  expect(names(NOTHING).filter((name) => /Python|Node 20/.test(name))).toEqual([])
  expect(names(NOTHING)).toContain(wholeName('node', 'at rest'))
  expect(equipped(whole, { ...NOTHING, 'Node 20': 'node' }).notes).toEqual([expect.stringContaining('no python3')])
  expect(equipped(syncsOfFew(), NOTHING).notes).toEqual([expect.stringContaining('Node 20')])
})

test('a Node 20 is looked for on the PATH, and the first Python that answers is taken', async () => {
  const folder = realpathSync(temporaryFolder())
  const program = (name: string, output: string) => {
    mkdirSync(join(folder, name))
    const file = join(folder, name, 'node')
    writeFileSync(file, `#!/bin/sh\necho '${output}'\n`)
    chmodSync(file, 0o755)
    return file
  }
  const [newer, twenty, python] = [program('a', 'v24.1.0'), program('b', 'v20.9.1'), program('c', '/opt/python')]
  const path = [join(folder, 'none'), newer, twenty].map((file) => file.replace(/\/node$/, '')).join(delimiter)

  const found = async (pythons: string[], folders: string) => {
    const { PostgreSQL: _, ...starters } = await findStarters(pythons, folders)
    return starters
  }

  expect(await found([join(folder, 'none'), python], path)).toEqual({ Python: '/opt/python', 'Node 20': twenty })
  expect(await found([join(folder, 'none')], join(folder, 'a'))).toEqual({ Python: undefined, 'Node 20': undefined })
})

test.each([
  ['at rest, over downloading the same', 1.2],
  ['the second night, over downloading the same', 1.2],
  ['1 % changed, over downloading the same', 1.5],
  ['1 % gone, over downloading the same', 1.5],
  ['1 % new at the top, over downloading the same', 1.5],
  ['initial sync, over downloading and inserting the same', 1.35],
  ['the chain scan at rest, over the plain scan', 1.2],
  ['peak memory of loading 1,000,000', 220],
  ['peak memory of 1,000,000 at rest', 220],
  ['whole commands, initial sync: sync over Python by hand', 1.2],
  ['whole commands, second night: sync over Python by hand', 0.9],
  ['whole commands, at rest: sync over Python by hand', 0.9],
  ['whole commands, 1 % changed: sync over Python by hand', 0.9],
  ['sync of 40 customers', 300],
  ['sync of 40 customers, from Node 20', 400],
])('the limit of "%s" is %d', (title, limit) => {
  expect(TARGETS.find((target) => target.title === title)?.limit).toBe(limit)
})
