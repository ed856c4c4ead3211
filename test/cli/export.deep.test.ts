import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { aMirrorOf, night } from '../store/nights.ts'
import { customers } from '../support/builders.ts'
import { eventually } from '../support/eventually.ts'
import { CUSTOMERS } from '../support/full-mirror.ts'
import { tamper, valueOf, temporaryFolder } from '../support/mirror-file.ts'
import { runInShell, startCli } from '../support/run-cli.ts'

const UNREAD = 'The reader of standard output closed it: what was written is not all of it.\n'

let mirror: Mirror
let folder: string
let file: string

beforeEach(async () => {
  mirror = await aMirrorOf(customers(1, CUSTOMERS))
  folder = temporaryFolder()
  file = join(folder, 'customers.csv')
})

const started = (...args: string[]) => ['export', '--format', 'csv', '--mirror', mirror.file, ...args]

const shell = (command: string) => runInShell(command, { cwd: folder })

test('a reader that has enough, or never reads, is no error, and it is said that there was more', async () => {
  const line = `set -o pipefail; customer-mirror export --format csv --mirror '${mirror.file}' | head -c 12`
  expect(shell(line)).toEqual({ code: 0, stdout: 'organization', stderr: UNREAD })

  const { code, stderr } = await startCli(started(), { cwd: folder, unread: 'stdout' }).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: UNREAD })
})

test('a reader that is slow gets one state of the mirror, and holds up no run', async () => {
  let isWritten: Promise<unknown> | undefined
  const { ended } = startCli(started(), {
    cwd: folder,
    onFirstOutput: () => {
      isWritten = night(mirror, 1, customers(1, CUSTOMERS + 500, { name: 'Renamed' }))
    },
  })
  const { code, stdout } = await ended
  await isWritten

  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\r\n')).toHaveLength(CUSTOMERS + 1)
  expect(stdout).not.toContain('Renamed')
  expect(valueOf(mirror.file, 'SELECT COUNT(*) FROM customers')).toBe(CUSTOMERS + 500)
})

test('SIGTERM leaves the file from before or a whole one', async () => {
  writeFileSync(file, 'from before')
  const running = startCli(started('-o', file), { cwd: folder })
  const isBegun = () => readdirSync(folder).length > 1 || readFileSync(file, 'utf8') !== 'from before'
  await eventually(isBegun, (is) => is)
  running.send('SIGTERM')
  const { code } = await running.ended

  const isWhole = readFileSync(file, 'utf8').split('\r\n').length === CUSTOMERS + 2
  expect(isWhole || readFileSync(file, 'utf8') === 'from before').toBe(true)
  if (code === 0) expect(isWhole).toBe(true)
  expect(readdirSync(folder)).toEqual(['customers.csv'])
})

test('a stop ends the export while its reader waits', async () => {
  const running = startCli(started(), { cwd: folder, onFirstOutput: () => running.send('SIGTERM') })
  const { code, stderr } = await running.ended

  expect({ code, stderr }).toEqual({ code: 143, stderr: 'Stopped: what was written is not all of it.\n' })
})

test('a full disk is reported with 5, behind standard output and for a file, which stays as it was', () => {
  writeFileSync(file, 'from before')
  const behind = shell(`customer-mirror export --format csv --mirror '${mirror.file}' > /dev/full`)
  const beside = shell(`ulimit -f 100; customer-mirror export --format csv --mirror '${mirror.file}' -o customers.csv`)

  expect([behind.code, beside.code]).toEqual([5, 5])
  expect(behind.stderr).toMatch(
    /^standard output: no space left on device \(write, ENOSPC\)\. What was written is not all of it\. Free some space .*\n$/,
  )
  expect(beside.stderr).toBe(
    `${file}: file too large (write, EFBIG). What was there before is unchanged. Free some space on that disk, and in the folder for ` +
      'temporary files (TMPDIR), or check the disk; then try again.\n',
  )
  expect(readFileSync(file, 'utf8')).toBe('from before')
  expect(readdirSync(folder)).toEqual(['customers.csv'])
})

test.each(['csv', 'parquet'])('rows take no more memory the more there are: %s', (format) => {
  tamper(
    mirror.file,
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)
     INSERT INTO customers (organization, id, name, address, first_seen_at, changed_at, last_run_id, updated_at)
     SELECT 'acme', printf('%08x-1000-4000-8000-000000000000', i), 'Customer ' || i, hex(zeroblob(200)), first_seen_at, changed_at,
       last_run_id, updated_at FROM n, (SELECT * FROM customers LIMIT 1)`,
  )
  const { code, stderr } = shell(
    `export NODE_OPTIONS=--max-old-space-size=48; customer-mirror export --format ${format} --mirror '${mirror.file}' -o x`,
  )

  expect({ code, stderr }).toEqual({ code: 0, stderr: `Exported 63,000 customers to ${folder}/x\nLast seq: 0\n` })
})
