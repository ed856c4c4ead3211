import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backupCommand } from '../../src/cli/backup.ts'
import { restoreCommand } from '../../src/cli/restore.ts'
import { runCommand } from '../support/run-command.ts'
import { aWorkplace } from '../support/workplace.ts'

const ORGANIZATION = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }

test.each([
  [
    'backup',
    backupCommand,
    "pg_dump --format=custom --schema=mirror_2 --file='last night.db' 'postgres://ann@db.test/crm?sslmode=require'\n",
  ],
  [
    'restore',
    restoreCommand,
    `psql --no-psqlrc --command='DROP SCHEMA "mirror_2_before" CASCADE' 'postgres://ann@db.test/crm?sslmode=require'\n`,
  ],
] as const)(
  '%s names the command of PostgreSQL to run, whole and without a password',
  async (_name, command, shown) => {
    const mirror = 'postgres://ann@db.test/crm?schema=mirror_2&sslmode=require'
    const { config } = aWorkplace([ORGANIZATION], { mirror })

    const refused = await runCommand(command, ['last night.db', '--config', config])

    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(shown.trim()) })
  },
)

test.each([
  ['backup', backupCommand, 1],
  ['restore', restoreCommand, 2],
] as const)('docs/operate/postgres.md shows what %s names', async (_name, command, how) => {
  const { config } = aWorkplace([ORGANIZATION], { mirror: 'postgres://mirror@db.example.com/customers' })

  const { stderr } = await runCommand(command, ['/backup/customers.dump', '--config', config])

  const named = [...stderr.matchAll(/: ((?:pg_dump|pg_restore|psql) .*)$/gm)]
  const guide = readFileSync(new URL('../../docs/operate/postgres.md', import.meta.url), 'utf8')
  expect(named).toHaveLength(how)
  for (const [, line = ''] of named) expect(guide).toContain(`\n${line}  # `)
})
