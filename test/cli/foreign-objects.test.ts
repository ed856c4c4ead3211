import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { exportCommand } from '../../src/cli/export.ts'
import { queryCommand } from '../../src/cli/query.ts'
import { runsCommand } from '../../src/cli/runs.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/*
 * What someone added to a mirror in a file, or changed there, and what refuses what a run writes or cannot be read: it is named, it is not called
 * damage, and the mirror goes on once it is gone.
 */

async function aMirroredPlace() {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [30] })))
  expect(await run(syncCommand, place)).toMatchObject({ code: 0 })
  return place
}

type AnyCommand = Parameters<typeof runCommand>[0]

function edit(file: string, statements: string): void {
  const db = new Database(file)
  db.exec(statements)
  db.close()
}

async function run(command: AnyCommand, { config }: { config: string }, ...more: string[]) {
  const { code, stdout, stderr } = await runCommand(command, [...more, '--config', config])
  return { code, said: (stdout + stderr).replaceAll(/\s+/g, ' ') }
}

/** The next run puts back what was edited: the name of the first customer, and both of two e-mail addresses, one after the other. */
const EDIT = `UPDATE customers SET name = 'Edited' WHERE row_id = 1;
  CREATE TEMP TABLE first AS SELECT email FROM customers WHERE row_id = 1;
  UPDATE customers SET email = NULL WHERE row_id = 1;
  UPDATE customers SET email = (SELECT email FROM first) WHERE row_id = 2;`

test.each<[what: string, add: string, drop: string, said: RegExp, checked: { code: number; said: RegExp }]>([
  [
    'a unique index',
    'CREATE UNIQUE INDEX one_email ON customers (email); CREATE UNIQUE INDEX one_id ON customers (id)',
    'DROP INDEX one_email',
    /UNIQUE constraint failed: customers\.email \(SQLITE_CONSTRAINT_UNIQUE\), unique index one_email on customers, unique index one_id on customers\. /,
    { code: 0, said: /sound and writable; .*may refuse a run: .*unique index one_email on customers/ },
  ],
  [
    'a unique index on an expression',
    'CREATE UNIQUE INDEX one_email ON customers (lower(email))',
    'DROP INDEX one_email',
    /unique index one_email on customers\. /,
    { code: 0, said: /unique index one_email on customers/ },
  ],
  [
    'a trigger that refuses rows',
    `CREATE TRIGGER no_change BEFORE UPDATE ON customers BEGIN SELECT RAISE(ABORT, 'Ann Lee'); END`,
    'DROP TRIGGER no_change',
    /a statement failed \(SQLITE_CONSTRAINT_TRIGGER\), trigger no_change on customers\. /,
    { code: 0, said: /trigger no_change on customers/ },
  ],
  [
    'a trigger that rolls back',
    `CREATE TRIGGER no_change BEFORE UPDATE ON customers BEGIN SELECT RAISE(ROLLBACK, 'Ann Lee'); END`,
    'DROP TRIGGER no_change',
    /a statement failed \(SQLITE_CONSTRAINT_TRIGGER\), trigger no_change on customers\. /,
    { code: 0, said: /trigger no_change on customers/ },
  ],
  [
    'a trigger that writes a table that is gone',
    'CREATE TRIGGER noting AFTER UPDATE ON customers BEGIN INSERT INTO audit VALUES (NEW.id); END',
    'DROP TRIGGER noting',
    /no such table: main\.audit \(SQLITE_ERROR\), trigger noting on customers\. /,
    { code: 7, said: /no such table: main\.audit \(SQLITE_ERROR\), trigger noting on customers/ },
  ],
  [
    'a full-text index that was never filled',
    `CREATE VIRTUAL TABLE words USING fts5 (name, content='customers', content_rowid='row_id');
     CREATE TRIGGER wording AFTER UPDATE ON customers BEGIN
       INSERT INTO words (words, rowid, name) VALUES ('delete', OLD.row_id, OLD.name);
       INSERT INTO words (rowid, name) VALUES (NEW.row_id, NEW.name);
     END`,
    'DROP TRIGGER wording',
    /a statement failed \(SQLITE_CORRUPT_VTAB\), virtual table words, trigger wording on customers\. /,
    { code: 0, said: /virtual table words/ },
  ],
  [
    'a column with a condition',
    `ALTER TABLE customers ADD COLUMN size INTEGER CHECK (length(name) < 7)`,
    'ALTER TABLE customers DROP COLUMN size',
    /CHECK constraint failed: length\(name\) < 7 \(SQLITE_CONSTRAINT_CHECK\), changed table customers\. /,
    { code: 0, said: /changed table customers/ },
  ],
])('%s is named by the run that it refuses and by check, and is no damage', async (_what, add, drop, said, checked) => {
  const place = await aMirroredPlace()
  edit(place.mirror, `${EDIT} ${add.includes('CHECK') ? `UPDATE customers SET name = 'Edited';` : ''} ${add}`)

  const refused = await run(syncCommand, place)
  expect(refused).toEqual({ code: 7, said: expect.stringMatching(said) })
  expect(refused.said).toContain('The file is sound, and holds nothing of this step. Correct or drop that')
  expect(refused.said).not.toMatch(/damaged|malformed|unexpected|Ann Lee/)
  const found = await run(checkCommand, place)
  expect(found).toEqual({ code: checked.code, said: expect.stringMatching(checked.said) })
  expect(found.said).not.toMatch(/damaged|malformed/)

  edit(place.mirror, drop)
  expect(await run(syncCommand, place)).toMatchObject({ code: 0, said: expect.stringContaining('proven') })
  expect(valueOf(place.mirror, `SELECT count(*) FROM customers WHERE name = 'Edited'`)).toBe(0)
})

test('what someone added and what refuses no row is no warning', async () => {
  const place = await aMirroredPlace()
  edit(
    place.mirror,
    `CREATE TABLE notes (text); CREATE VIEW mine AS SELECT * FROM nowhere; CREATE INDEX many_names ON customers (name);
     ALTER TABLE customers ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE UNIQUE INDEX one_note ON notes (text)`,
  )

  expect(await run(checkCommand, place)).toEqual({ code: 0, said: expect.stringMatching(/sound and writable(?!;)/) })
  expect(await run(syncCommand, place)).toMatchObject({ code: 0 })
})

test.each<[what: string, change: string, said: RegExp]>([
  ['a version before all', 'PRAGMA user_version = 0', /it is of version 0/],
  ['a version below all', 'PRAGMA user_version = -1', /it is of version -1/],
  [
    'a view with other columns',
    'DROP VIEW active_customers; CREATE VIEW active_customers AS SELECT id FROM customers',
    /active_customers lacks the column organization, which was renamed or dropped\. /,
  ],
  [
    'a view that cannot be read',
    'DROP VIEW freshness; CREATE VIEW freshness AS SELECT nope FROM customers',
    /the view freshness cannot be read any more: no such column: nope\. /,
  ],
  [
    'a column with another name',
    'ALTER TABLE customers RENAME COLUMN email TO mail',
    /customers lacks the column email, which was renamed or dropped\. /,
  ],
])('%s ends every command with 7, and check', async (_what, change, said) => {
  const place = await aMirroredPlace()
  edit(place.mirror, change)

  for (const command of [statusCommand, syncCommand, runsCommand, queryCommand, checkCommand])
    expect(await run(command, place)).toEqual({ code: 7, said: expect.stringMatching(said) })
  expect(await run(exportCommand, place, '--format', 'csv')).toEqual({ code: 7, said: expect.stringMatching(said) })
})

test.each<[what: string, change: string, command: AnyCommand, said: RegExp]>([
  ['a time', `started_at = 'yesterday'`, statusCommand, /holds a time that cannot be read \(yesterday\)\. /],
  ['a date that no month has', `read_as_of = '2026-13-45 99:00:00.000'`, statusCommand, /holds a time .*2026-13-45/],
  ['a number for a time', 'started_at = 7', statusCommand, /holds a time that cannot be read \(7\)\. /],
  ['bytes for a time', `started_at = x'00ff'`, runsCommand, /holds a time that cannot be read/],
  ['half a text of JSON', `reasons = '["Ann'`, runsCommand, /holds a text that should be JSON, and cannot be read\. /],
  ['other JSON than reasons', `reasons = '{}'`, statusCommand, /holds reasons that cannot be read\. /],
])('%s that someone wrote in runs ends a command that needs it with 7', async (_what, change, command, said) => {
  const place = await aMirroredPlace()
  edit(place.mirror, `UPDATE runs SET ${change}`)

  const ended = await run(command, place)
  expect(ended).toEqual({ code: 7, said: expect.stringMatching(said) })
  expect(ended.said).not.toMatch(/damaged|unexpected|Ann/)
})
