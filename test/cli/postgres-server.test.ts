import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { refuseBackup, refuseRestore } from '../../src/cli/backup.ts'

const MIRROR =
  'postgres://ann:hunter2@db.test:5433/crm?schema=shops&sslmode=verify-full&sslrootcert=%2Fetc%2Four%20ca.pem'

test('backup and restore of a mirror in PostgreSQL print the command to run, with its schema, its TLS and no password', () => {
  const address = `'postgres://ann@db.test:5433/crm?sslmode=verify-full&sslrootcert=%2Fetc%2Four%20ca.pem'`

  expect(() => refuseBackup(MIRROR, '/backup/our mirror.dump')).toThrow(
    `pg_dump --format=custom --schema=shops --file='/backup/our mirror.dump' ${address}`,
  )
  for (const part of [
    `pg_restore --file='/backup/our mirror.dump.sql' '/backup/our mirror.dump' && psql `,
    `--file='/backup/our mirror.dump.sql' --command='SELECT version FROM "shops".mirror_schema' --command='SELECT setval(`,
    `feed_seq = excluded.feed_seq' ${address} && rm '/backup/our mirror.dump.sql'\n`,
    `psql --no-psqlrc --command='DROP SCHEMA "shops_before" CASCADE' ${address}`,
  ])
    expect(() => refuseRestore(MIRROR, '/backup/our mirror.dump')).toThrow(part)
})

test.each([
  ['postgres://ann@db.test/crm', `'postgres://ann@db.test/crm?sslmode=require'`],
  ['postgres://ann@localhost/crm', 'postgres://ann@localhost/crm'],
  ['postgres:///crm?host=/run/postgresql', `'postgres:///crm?host=%2Frun%2Fpostgresql'`],
])('they reach the server with TLS where this program does: %s', (mirror, address) => {
  expect(() => refuseBackup(mirror, 'a.dump')).toThrow(`--file=a.dump ${address}`)
})

test('docs/operate/postgres.md shows what they name, and a mirror in a file is backed up and restored here', () => {
  const guide = readFileSync(new URL('../../docs/operate/postgres.md', import.meta.url), 'utf8')
  for (const [refuse, how] of [
    [refuseBackup, 1],
    [refuseRestore, 2],
  ] as const) {
    let text = ''
    try {
      refuse('postgres://mirror@db.example.com/customers', '/backup/customers.dump')
    } catch (error) {
      text = String(error)
    }
    const named = [...text.matchAll(/: ((?:pg_dump|pg_restore|psql) .*)$/gm)]
    expect(named).toHaveLength(how)
    for (const [, line = ''] of named) expect(guide).toContain(`\n${line}  # `)
    expect(() => refuse('/data/customers.db', '/backup/customers.db')).not.toThrow()
  }
})
