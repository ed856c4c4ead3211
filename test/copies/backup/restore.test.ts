import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, inject, onTestFinished, test } from 'vitest'
import { replacedMirrors } from '../../../src/copies/older-files.ts'
import { lockPlace } from '../../../src/copies/written-file.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { VERSION } from '../../../src/store/schema/schema.ts'
import { aMirrorOf, CLOCKS, night, organizationsOf } from '../../store/nights.ts'
import { makeNight } from '../../support/listed-source.ts'
import { aBackupFile, backUp, damaged, lose, restore } from '../../support/backing-up.ts'
import { aCustomer, customerId, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { written } from '../../support/commands.ts'
import { heldPipe } from '../../support/failing-disk.ts'
import { aMirror, aMirrorFile, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { anAwayOrganization, aWorkplace } from '../../support/workplace.ts'

const COUNT = 'SELECT count(*) FROM customers'

test('a restore puts the backup in the place of the mirror, where the next night goes on, and keeps the replaced one beside it', async () => {
  const { mirror, backup } = await aBackup()
  const kept = join(dirname(mirror), 'customers-replaced-20260105T020000000Z.db')
  const restored = await restore(backup, mirror)

  expect(restored).toMatchObject({ takenAt: '2026-01-05 02:00:00.000', customers: 10, organizations: 1, kept })
  expect(valueOf(mirror, COUNT)).toBe(10)
  expect(valueOf(kept, COUNT)).toBe(12)
  expect(statSync(mirror).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(mirror)).toSorted()).toEqual([basename(kept), 'customers.db'])
  const report = await night(await aMirror(mirror), 2, customers(1, 11))

  expect(report).toMatchObject({ status: 'complete', inserted: 1, unchanged: 10 })
  expect(rowsOf(mirror, 'SELECT change FROM changes').map(({ change }) => change)).toEqual(['added'])
  expect(valueOf(mirror, `SELECT count(*) FROM sqlite_schema WHERE name = 'backup_mark'`)).toBe(0)
})

test('a restore deletes the rejected record of a forgotten customer, although the backup has nothing else of that customer', async () => {
  const mirror = await openMirror(aMirrorFile())
  await night(mirror, 0, [...customers(1, 2), aCustomer(3, { id: `{${customerId(3).toUpperCase()}}` })])
  const { file } = await backUp(mirror.file)
  const forgetting = { organization: 'acme', nowMs: START_MS + MINUTE_MS, monotonicMs: 0 }
  await mirror.forgetCustomer({ ...forgetting, id: customerId(3) })
  await mirror.close()

  expect(await restore(file, mirror.file)).toMatchObject({ forgotten: 1 })
  expect(rowsOf(mirror.file, 'SELECT payload FROM rejects')).toEqual([])
  expect(readFileSync(mirror.file, 'latin1')).not.toContain('customer-3@example')
})

test.each([
  ['of another version', `PRAGMA user_version = ${VERSION + 1}`],
  ['without a table', 'DROP TABLE fingerprint_key'],
])('a restore takes the place of a mirror %s, as of one that is lost', async (_, sql) => {
  const { mirror, backup } = await aBackup()
  tamper(mirror, sql)
  const restored = await restore(backup, mirror)

  expect(restored).toMatchObject({ customers: 10, forgotten: undefined })
  expect(valueOf(mirror, COUNT)).toBe(10)
  expect(valueOf(restored.kept ?? '', COUNT)).toBe(12)
})

test('a restore never gets the WAL of the mirror before it: what a killed run left in it goes with the replaced file', async () => {
  const { mirror, backup } = await aBackup()
  const killed = await aMirrorOf(customers(1, 30))
  for (const ending of ['', '-wal']) copyFileSync(killed.file + ending, mirror + ending)
  const inWal = statSync(`${mirror}-wal`).size
  const { kept = '' } = await restore(backup, mirror)

  expect(inWal).toBeGreaterThan(0)
  expect([mirror, kept].map((file) => valueOf(file, COUNT))).toEqual([10, 30])
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
  expect(readdirSync(dirname(mirror)).toSorted()).toEqual([basename(kept), 'customers.db'])
})

test('a restore takes a backup that another program made, also one in WAL mode', async () => {
  const { mirror } = await aBackup()
  const other = await aMirrorOf(customers(1, 7))
  const { takenAt, customers: restored } = await restore(other.file, mirror)

  expect([takenAt, restored]).toEqual([undefined, 7])
  expect(valueOf(mirror, COUNT)).toBe(7)
})

type Hold = [what: string, hold: (mirror: string) => () => void, said: RegExp]
/** A restore waits for another one for a while. */
const RESTORING: Hold = ['restores it', (mirror) => lockPlace(mirror).release, /another process writes it/]

test.each<Hold>([
  ['has it open to write', (mirror) => opened(mirror), /has the mirror open.*Close the program/s],
  ['has it open to read', (mirror) => opened(mirror, { readonly: true }), /has the mirror open/],
  ...(inject('isDeep') ? [RESTORING] : []),
])('nothing is changed while another program %s', async (_, hold, said) => {
  const { mirror, backup } = await aBackup()
  const release = hold(mirror)
  onTestFinished(release)

  await expect(restore(backup, mirror)).rejects.toMatchObject({ code: 'busy', message: expect.stringMatching(said) })
  release()
  expect(valueOf(mirror, COUNT)).toBe(12)
  await restore(backup, mirror)
  expect(valueOf(mirror, COUNT)).toBe(10)
})

test('nothing is changed while a run elsewhere has a lease that did not expire, although no program has the file open', async () => {
  const { mirror, backup } = await aBackup()
  const expires = START_MS + MINUTE_MS
  const lease = `INSERT INTO leases (organization, run_id, holder, expires_at_ms) VALUES ('acme', 2, 'elsewhere#1#1', ?)`
  tamper(mirror, lease, expires)

  const leased = { code: 'leased', message: expect.stringContaining('restored') }
  await expect(restore(backup, mirror)).rejects.toMatchObject(leased)
  await expect(restore(backup, mirror, { nowMs: expires })).resolves.toMatchObject({ customers: 10 })
})

test('nothing is changed while a run goes on here, which is to be waited for, and not to be stopped', async () => {
  const { mirror, backup } = await aBackup()
  const open = await aMirror(mirror)
  await open.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await expect(restore(backup, mirror, { nowMs: START_MS })).rejects.toMatchObject({ code: 'leased' })
})

test.each<[what: string, make: (place: Place) => string | Promise<string>, expected: object]>([
  ['is not there', ({ mirror }) => `${mirror}.none`, { code: 'usage', message: expect.stringMatching(/no such file/) }],
  ['is the mirror', ({ mirror }) => mirror, { code: 'usage', message: expect.stringMatching(/is the mirror itself/) }],
  ['is of another version', ({ backup }) => changed(backup, 'PRAGMA user_version = 999'), { code: 'version' }],
  ['is damaged', ({ backup }) => damaged(backup), { code: 'damaged', message: expect.stringMatching(/older backup/) }],
  ['is empty', ({ backup }) => written(backup, ''), { code: 'usage' }],
  ['is a pipe', ({ backup }) => heldPipe(`${backup}.pipe`), { code: 'foreign' }],
])('nothing is changed by a backup that %s', async (_, make, expected) => {
  const place = await aBackup()
  const file = await make(place)

  await expect(restore(file, place.mirror)).rejects.toMatchObject(expected)
  expect(namesAt(place.mirror)).toEqual(['customers.db'])
  expect(valueOf(place.mirror, COUNT)).toBe(12)
})

test('nothing is changed after a stop that was asked for', async () => {
  const { mirror, backup } = await aBackup()
  const restoring = restore(backup, mirror, { signal: AbortSignal.abort() })

  await expect(restoring).rejects.toMatchObject({ code: 'interrupted' })
  expect(namesAt(mirror)).toEqual(['customers.db'])
})

test('a mirror that is damaged beyond locking is replaced only with --force, and is kept too', async () => {
  const { mirror, backup } = await aBackup()
  written(mirror, 'x'.repeat(5000))

  await expect(restore(backup, mirror)).rejects.toThrow(/restore with --force/)
  const { kept = '' } = await restore(backup, mirror, { force: true })
  expect(valueOf(mirror, COUNT)).toBe(10)
  expect(readFileSync(kept, 'utf8')).toBe('x'.repeat(5000))
})

test('a file of someone else at the place of the mirror is left alone, with --force too', async () => {
  const { mirror, backup } = await aBackup()
  changed(mirror, 'PRAGMA application_id = 7')

  for (const force of [false, true])
    await expect(restore(backup, mirror, { force })).rejects.toMatchObject({ code: 'foreign' })
  expect(valueOf(mirror, COUNT)).toBe(12)
})

test('the command says in its JSON what was restored and what was kept', async () => {
  const { mirror, backup } = await aBackup()
  const { run } = aWorkplace([anAwayOrganization()], { mirror })
  const first = await run(`restore ${backup}`)
  const second = await run(`restore ${backup} --json`)

  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(second.stdout)).toMatchObject({
    schemaVersion: 1,
    restored: { mirror, file: backup, customers: 10, kept: expect.stringContaining('-replaced-') },
  })
})

/** Without what a test that reads the mirror lets SQLite leave there. */
const namesAt = (file: string) => readdirSync(dirname(file)).filter((name) => !/^customers\.db-(wal|shm)$/.test(name))

type Place = { mirror: string; backup: string }

/** A closed mirror with 12 customers, and a backup of the night before, when there were 10. */
async function aBackup(): Promise<Place> {
  const place = { mirror: aMirrorFile(), backup: aBackupFile() }
  const bytes = await (backedUp ??= backUpAndGoOn())
  for (const which of ['mirror', 'backup'] as const) writeFileSync(place[which], bytes[which], { mode: 0o600 })
  return place
}

let backedUp: Promise<Record<keyof Place, Buffer>> | undefined

async function backUpAndGoOn(): Promise<Record<keyof Place, Buffer>> {
  const mirror = await openMirror(aMirrorFile())
  await night(mirror, 0, customers(1, 10))
  const { file } = await backUp(mirror.file)
  await night(mirror, 1, customers(1, 12))
  await mirror.close()
  return { mirror: readFileSync(mirror.file), backup: readFileSync(file) }
}

/** Reads a mirror in another connection; returns what closes it. */
function opened(file: string, options: Database.Options = {}): () => void {
  const other = new Database(file, options)
  other.prepare('SELECT * FROM runs').all()
  return () => void other.close()
}

function changed(file: string, sql: string): string {
  tamper(file, sql)
  return file
}

/* What a backup cannot know: numbers that were given out since, and customers who were forgotten. */

const LAST = 'SELECT (SELECT max(seq) FROM changes) AS seq, (SELECT max(id) FROM runs) AS run'
const FIRST = 'SELECT min(seq) AS seq, max(run_id) AS run FROM changes'

test.each([
  ['is gone', async (mirror: string) => lose(mirror)],
  ['is damaged beyond reading', async (mirror: string) => writeFileSync(mirror, 'x'.repeat(5000))],
  ['was begun anew after the loss', beginAnew],
])('where the mirror %s, no number that it may have given out is given out again', async (_, happened) => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10, 11])
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await mirrored(mirror, [12, 14, 16])
  const [before = {}] = rowsOf(mirror, LAST)
  await happened(mirror)
  await restore(file, mirror, { force: true })
  const horizon = valueOf(mirror, `SELECT feed_seq FROM horizons WHERE organization = 'acme'`)
  await mirrored(mirror, [20])
  const [after = {}] = rowsOf(mirror, `${FIRST} WHERE seq > ${Number(horizon)}`)

  expect(Number(horizon)).toBeGreaterThan(Number(before['seq']))
  expect(Number(after['seq'])).toBe(Number(horizon) + 1)
  expect(Number(after['run'])).toBeGreaterThan(Number(before['run']))
})

test('where the mirror was begun anew, those forgotten before the backup stay forgotten, and of the others those in the backup', async () => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10])
  await forget(mirror, 'acme', [3])
  const { file } = await backUp(mirror, { file: aBackupFile() })
  await beginAnew(mirror)
  await forget(mirror, 'acme', [5, 15])
  const restored = await restore(file, mirror)
  const { report } = await makeNight(await aMirror(mirror), 20, { list: customers(1, 12) })
  const left = rowsOf(mirror, 'SELECT id FROM customers').map(({ id }) => id)

  expect(restored).toMatchObject({ forgotten: 1, unrecognized: 1 })
  expect(report).toMatchObject({ status: 'complete', received: 12, suppressed: 2 })
  expect(left).not.toContain(customerId(3))
  expect(left).not.toContain(customerId(5))
})

test.each<[when: string, organization: string, before: number[], after: number[]]>([
  ['after the backup', 'acme', [], [3, 7]],
  ['after the organization was renamed, and another one before the backup', 'acme-eu', [9], [3]],
  ['although new when the organization was renamed', 'acme-eu', [], [12]],
])('customers who were forgotten stay so, and nothing of them is in the file: %s', async (_, name, before, after) => {
  const mirror = aMirrorFile()
  await mirrored(mirror, [10])
  await forget(mirror, 'acme', before)
  const { file } = await backUp(mirror, { file: aBackupFile() })
  if (name !== 'acme') await rename(mirror)
  await mirrored(mirror, [12], name)
  await forget(mirror, name, after)
  const restored = await restore(file, mirror)

  expect(restored).toMatchObject({ forgotten: after.length, onlyInBackup: name === 'acme' ? [] : ['acme'] })
  expect(restored.customers).toBe(valueOf(mirror, 'SELECT count(*) FROM customers'))
  expect(replacedMirrors(mirror)).toEqual([restored.kept])
  for (const n of [...before, ...after]) expect(readFileSync(mirror, 'latin1')).not.toContain(`customer-${n}@example`)
  // To rename it again is what the operator does next.
  if (name !== 'acme') await rename(mirror)
  const list = customers(1, 12)
  const { report } = await makeNight(await aMirror(mirror), 20, { list, told: { organization: name } })
  expect(report).toMatchObject({ status: 'complete', received: 12, suppressed: before.length + after.length })
  const left = rowsOf(mirror, 'SELECT id FROM customers').map(({ id }) => id)
  for (const n of [...before, ...after]) expect(left).not.toContain(customerId(n))
  expect(rowsOf(mirror, 'PRAGMA foreign_key_check')).toEqual([])
})

/** A night for each length of the list. */
async function mirrored(file: string, lengths: readonly number[], organization = 'acme'): Promise<void> {
  const mirror = await aMirror(file)
  for (const [n, length] of lengths.entries()) await night(mirror, n, customers(1, length), { organization })
  await mirror.close()
}

async function beginAnew(mirror: string): Promise<void> {
  lose(mirror)
  await mirrored(mirror, [20])
}

async function forget(file: string, organization: string, numbers: readonly number[]): Promise<void> {
  const mirror = await aMirror(file)
  for (const n of numbers) await mirror.forgetCustomer({ organization, id: customerId(n), ...CLOCKS })
  await mirror.close()
}

async function rename(file: string): Promise<void> {
  const organizations = await organizationsOf(file)
  await organizations.rename({ from: 'acme', to: 'acme-eu' }, CLOCKS)
  await organizations.close()
}
