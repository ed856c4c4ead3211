import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { valueOf } from '../support/mirror-file.ts'
import { withoutPrivileges } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/* Each class of fault, as a command meets it: the place, what was reported with its code, and one sentence with what to do. */

/** A mirror in a file; `run` runs a command line there, and gives all that it says on one line. */
async function aMirroredPlace() {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [30] })))
  const run = async (line: string) => {
    const { code, stdout, stderr } = await place.run(line)
    return { code, said: (stdout + stderr).replaceAll(/\s+/g, ' ') }
  }
  if (synced !== undefined) writeFileSync(place.mirror, synced, { mode: 0o600 })
  else expect(await run('sync')).toMatchObject({ code: 0 })
  synced ??= readFileSync(place.mirror)
  return { ...place, run }
}

/** A mirror after its first sync, for all tests: each sandbox has the same customers. */
let synced: Buffer | undefined

function edit(file: string, statements: string): void {
  const db = new Database(file)
  db.unsafeMode(true).exec(statements)
  db.close()
}

const NO_RUNS = `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'runs'`
const NO_ORGANIZATION = 'DROP VIEW active_customers; CREATE VIEW active_customers AS SELECT id FROM customers'
const runsWith = (change: string) => (file: string) => edit(file, `UPDATE runs SET ${change}`)
const EVERY = ['status', 'sync', 'runs', 'query', 'check', 'export --format csv']
const [READ, WRITE] = [['status'], ['sync', 'status']]

test.each<[fault: string, harm: (file: string) => void, said: RegExp, commands?: string[]]>([
  ['damaged', (file) => edit(file, NO_RUNS), /\(SQLITE_CORRUPT\w*\)\. It is damaged, .*put back a backup/, WRITE],
  ['a view lacks a column', (file) => edit(file, NO_ORGANIZATION), /lacks the column organization, which was renamed/],
  ['no such day', runsWith(`read_as_of = '2026-13-45 99:00:00.000'`), /holds a time .*2026-13-45/, READ],
  ['bytes for a time', runsWith(`started_at = x'00ff'`), /holds a time that cannot be read/, ['runs']],
  ['no JSON', runsWith(`reasons = '["Ann'`), /a text that should be JSON, and cannot be read\. /, ['runs']],
  ['other JSON', runsWith(`reasons = '{}'`), /holds reasons that cannot be read\. /, READ],
])('a mirror with a fault ends commands with 7, and says which: %s', async (fault, harm, said, commands = EVERY) => {
  const { run, mirror } = await aMirroredPlace()
  harm(mirror)

  for (const line of commands) {
    const ended = await run(line)
    expect(ended, line).toEqual({ code: 7, said: expect.stringMatching(said) })
    expect(ended.said).toContain(mirror)
    expect(ended.said).not.toMatch(fault === 'damaged' ? /unexpected|Ann/ : /damaged|unexpected|Ann/)
  }
})

test('denied: the file and its folder belong to another user, and then the configuration may not be read', async () => {
  const { folder, config, run } = await aMirroredPlace()
  chmodSync(folder, 0o755)
  chmodSync(config, 0o644)

  const denied = /customers\.db: permission denied \(\w+, EACCES\)\. Check the name, who owns it/
  expect(await withoutPrivileges(() => run('sync'))).toEqual({ code: 7, said: expect.stringMatching(denied) })
  chmodSync(config, 0o000)
  const unread = 'customer-mirror.yaml cannot be read: this user has no permission'
  expect(await withoutPrivileges(() => run('sync'))).toEqual({ code: 2, said: expect.stringContaining(unread) })
})

/** The next run puts back what was edited: the name of the first customer, and both of two e-mail addresses, one after the other. */
const EDIT = `UPDATE customers SET name = 'Edited' WHERE row_id = 1;
  CREATE TEMP TABLE first AS SELECT email FROM customers WHERE row_id = 1;
  UPDATE customers SET email = NULL WHERE row_id = 1;
  UPDATE customers SET email = (SELECT email FROM first) WHERE row_id = 2;`
const INDEXES = 'CREATE UNIQUE INDEX added ON customers (email); CREATE UNIQUE INDEX one_id ON customers (id)'
const CHECKED = `UPDATE customers SET name = 'Edited';
  ALTER TABLE customers ADD COLUMN size INTEGER CHECK (length(name) < 7)`
const trigger = (body: string) => `CREATE TRIGGER added BEFORE UPDATE ON customers BEGIN ${body}; END`
const WORDS = `CREATE VIRTUAL TABLE words USING fts5 (name, content='customers', content_rowid='row_id');
  CREATE TRIGGER added AFTER UPDATE ON customers BEGIN
    INSERT INTO words (words, rowid, name) VALUES ('delete', OLD.row_id, OLD.name);
    INSERT INTO words (rowid, name) VALUES (NEW.row_id, NEW.name);
  END`

test.each<[add: string, drop: string, named: string, said: RegExp]>([
  [INDEXES, 'INDEX added', 'unique index added on customers', /\.email \(\w+_UNIQUE\), .*, unique index one_id/],
  [trigger(`SELECT RAISE(ABORT, 'Ann Lee')`), 'TRIGGER added', 'trigger added on customers', /\(\w+_TRIGGER\), /],
  [trigger(`SELECT RAISE(ROLLBACK, 'Ann Lee')`), 'TRIGGER added', 'trigger added on customers', /\(\w+_TRIGGER\), /],
  [trigger('INSERT INTO audit VALUES (NEW.id)'), 'TRIGGER added', 'no such table: main.audit', /, trigger added on/],
  [WORDS, 'TRIGGER added', 'virtual table words', /\(SQLITE_CORRUPT_VTAB\), virtual table words, trigger added on/],
  [CHECKED, '', 'changed table customers', /CHECK constraint failed: length\(name\) < 7 \(\w+_CHECK\), /],
])('%s is named by the run that it refuses and by check, and is no damage', async (add, drop, named, said) => {
  const { run, mirror } = await aMirroredPlace()
  edit(mirror, `${EDIT} ${add}`)
  const [refused, found] = [await run('sync'), await run('check')]

  expect(refused.code).toBe(7)
  expect(refused.said).toMatch(said)
  expect(refused.said).toContain('The file is sound, and holds nothing of this step. Correct or drop that')
  // A view or a trigger that cannot be read is found before anything else.
  expect(found.code).toBe(add.includes('audit') ? 7 : 0)
  for (const text of [refused.said, found.said]) {
    expect(text).toContain(named)
    expect(text).not.toMatch(/damaged|malformed|unexpected|Ann Lee/)
  }

  edit(mirror, drop === '' ? 'ALTER TABLE customers DROP COLUMN size' : `DROP ${drop}`)
  expect(await run('sync')).toMatchObject({ code: 0, said: expect.stringContaining('complete') })
  expect(valueOf(mirror, `SELECT count(*) FROM customers WHERE name = 'Edited'`)).toBe(0)
})

test('what someone added and what refuses no row is no warning', async () => {
  const { run, mirror } = await aMirroredPlace()
  edit(
    mirror,
    `CREATE TABLE notes (text); CREATE VIEW mine AS SELECT * FROM nowhere; CREATE INDEX many_names ON customers (name);
     ALTER TABLE customers ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE UNIQUE INDEX one_note ON notes (text)`,
  )

  expect(await run('check')).toEqual({ code: 0, said: expect.stringMatching(/sound and writable(?!;)/) })
  expect(await run('sync')).toMatchObject({ code: 0 })
})
