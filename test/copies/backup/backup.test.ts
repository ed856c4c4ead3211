import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { aMirrorOf } from '../../store/nights.ts'
import { aBackupFile, backUp, damaged } from '../../support/backing-up.ts'
import { customers, MINUTE_MS, START_MS, DAY_MS } from '../../support/builders.ts'
import { aMirroredWorkplace, written } from '../../support/commands.ts'
import { failOnDisk } from '../../support/failing-disk.ts'
import { rowsOf, valueOf, temporaryFolder } from '../../support/mirror-file.ts'
import { aPlan, aSmallMirror, publishAll } from '../../support/publishing.ts'

test('a backup holds the whole mirror, internal tables included, in one private file, and no lease of a run', async () => {
  const mirror = await aMirrorOf(customers(1, 30))
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + MINUTE_MS })
  const { file, ...made } = await backUp(mirror.file)
  const tables = rowsOf(mirror.file, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
  const contents = (path: string) =>
    tables.filter(({ name }) => name !== 'leases').map(({ name }) => rowsOf(path, `SELECT * FROM "${String(name)}"`))

  expect(made).toMatchObject({ customers: 30, takenAt: '2026-01-05 02:00:00.000', removed: [] })
  expect(contents(file)).toEqual(contents(mirror.file))
  expect(valueOf(mirror.file, 'SELECT count(*) FROM leases')).toBe(1)
  expect(valueOf(file, 'SELECT count(*) FROM leases')).toBe(0)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
  expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers.db'])
})

test('a backup is replaced by the next one; with keep, the latest ones are kept by their time, and other files are left alone', async () => {
  const mirror = await aSmallMirror()
  const file = aBackupFile()
  const mine = ['customers-20250101T000000000Z.db', 'customers-1.db', 'other-20260105T020000000Z.db']
  for (const name of mine) writeFileSync(join(dirname(file), name), 'not a backup')
  const removed: string[] = []
  for (const [minute, keep] of [undefined, undefined, 3, 3, 3].entries())
    removed.push(...(await backUp(mirror, { file, keep, nowMs: START_MS + minute * MINUTE_MS })).removed)

  expect(removed).toEqual([join(dirname(file), 'customers-20260105T020100000Z.db')])
  const kept = ['customers-20260105T020200000Z.db', 'customers-20260105T020300000Z.db', 'customers.db']
  expect(readdirSync(dirname(file)).toSorted()).toEqual([...mine, ...kept].toSorted())
})

test('a backup with keep, those of a clock that was a year ahead push no later one out', async () => {
  const mirror = await aSmallMirror()
  const file = aBackupFile()
  for (const days of [0, 365, 366, 1, 2, 3, 4]) await backUp(mirror, { file, keep: 3, nowMs: START_MS + days * DAY_MS })

  expect(readdirSync(dirname(file)).toSorted()).toEqual([
    ...['customers-20260107T020000000Z.db', 'customers-20260108T020000000Z.db', 'customers.db'],
  ])
})

test('a backup of a damaged mirror is not made, nor one of a copy for readers, and the one from before stays', async () => {
  const mirror = await aMirrorOf(customers(1, 400))
  await mirror.close()
  const { file } = await backUp(mirror.file)
  const before = readFileSync(file)
  damaged(mirror.file)
  const [copy] = publishAll(aPlan(await aSmallMirror())).copies

  await expect(backUp(mirror.file, { file })).rejects.toMatchObject({ code: 'damaged' })
  await expect(backUp(copy?.file ?? '', { file })).rejects.toMatchObject({ code: 'foreign' })
  expect(readFileSync(file).equals(before)).toBe(true)
  expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers.db'])
})

test('a backup of which an older one cannot be removed is said to be in its place', async () => {
  const mirror = await aSmallMirror()
  const file = aBackupFile()
  for (const nowMs of [START_MS, START_MS + MINUTE_MS]) await backUp(mirror, { file, keep: 2, nowMs })
  failOnDisk('unlinkSync', (path) => /-\d{8}T\d{9}Z\.db$/.test(String(path)))

  const said = /is in its place, but an older one could not be removed: .* \(unlink, EIO\)\. /
  const failing = backUp(mirror, { file, keep: 1, nowMs: START_MS + 2 * MINUTE_MS })
  await expect(failing).rejects.toMatchObject({ code: 'full', message: expect.stringMatching(said) })
})

test.each<[what: string, make: (mirror: string, folder: string) => string, says: RegExp]>([
  ['the mirror', (mirror) => mirror, /is the mirror itself/],
  ['a file of someone else', (_, folder) => written(join(folder, 'b.db'), 'notes'), /is not a backup made by this/],
  ['a WAL beside it', (_, folder) => written(join(folder, 'b.db-wal'), '').slice(0, -4), /has b\.db-wal beside it/],
])('a target that cannot be replaced is refused, and left as it is: %s', async (_, make, says) => {
  const mirror = await aSmallMirror()
  const folder = temporaryFolder()
  const file = make(mirror, folder)
  const before = readdirSync(folder)

  const refused = { code: 'usage', message: expect.stringMatching(says) }
  await expect(backUp(mirror, { file })).rejects.toMatchObject(refused)
  expect(readdirSync(folder)).toEqual(before)
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
})

test('the command makes a backup and says where, as text and as JSON', async () => {
  const { folder, run } = await aMirroredWorkplace()
  const file = join(folder, 'backups', 'customers.db')
  const first = await run(`backup ${file}`)
  const second = await run(`backup ${file} --keep 2 --json`)

  expect(first).toMatchObject({ code: 0, stdout: `Backup: ${file} (12 customers, checked)\n`, stderr: '' })
  expect(JSON.parse(second.stdout)).toMatchObject({
    schemaVersion: 1,
    backup: { file, customers: 12, bytes: statSync(file).size, takenAt: expect.stringMatching(/Z$/), removed: [] },
  })
  expect(readdirSync(dirname(file)).filter((name) => /^customers-\d{8}T\d{9}Z\.db$/.test(name))).toHaveLength(1)
})
