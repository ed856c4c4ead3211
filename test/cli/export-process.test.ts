import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import type { Mirror } from '../../src/store.ts'
import { night } from '../mirror/nights.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { aDuckDb } from '../support/duckdb.ts'
import { eventually } from '../support/eventually.ts'
import { aMirror, aMirrorFile, tamper, valueOf } from '../support/mirror-file.ts'
import { asPlainUser, runCli, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/customer-mirror.mjs', import.meta.url))
const PLAIN_USER = asPlainUser()

/** More than pipes hold. */
const CUSTOMERS = 3000

let mirror: Mirror
let folder: string
let file: string

beforeEach(async () => {
  mirror = await aMirror(await aMirrorOfMany())
  folder = temporaryFolder()
  file = join(folder, 'customers.csv')
})

let ofMany: Promise<Buffer> | undefined

/** A mirror that was made once for all tests, as a file. */
async function aMirrorOfMany(): Promise<string> {
  const copy = aMirrorFile()
  writeFileSync(copy, await (ofMany ??= mirrorMany()), { mode: 0o600 })
  return copy
}

async function mirrorMany(): Promise<Buffer> {
  const made = await openMirror(aMirrorFile())
  await night(made, 0, customers(1, CUSTOMERS))
  await made.close()
  return readFileSync(made.file)
}

const started = (...args: string[]) => ['export', '--format', 'csv', '--mirror', mirror.file, ...args]

/** The program as a shell starts it. */
function shell(command: string) {
  const line = command.replace('customer-mirror', `'${process.execPath}' '${PROGRAM}'`)
  const { status, stdout, stderr } = spawnSync('/bin/bash', ['--norc', '-c', line], {
    encoding: 'utf8',
    maxBuffer: 1e9,
    cwd: folder,
    env: { PATH: '/usr/bin:/bin' },
  })
  return { code: status, stdout, stderr }
}

describe('a reader', () => {
  test('that has enough is no error', () => {
    const { code, stdout, stderr } = shell(
      `set -o pipefail; customer-mirror export --format csv --mirror '${mirror.file}' | head -c 12`,
    )

    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'organization', stderr: '' })
  })

  test('that never reads is none either', async () => {
    const { code, stderr } = await startCli(started(), { cwd: folder, unread: 'stdout' }).ended

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('that is slow gets one state of the mirror, and holds up no run', async () => {
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
})

describe('a stop', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends the export while its reader waits', async (signal, exitCode) => {
    const running = startCli(started(), { cwd: folder, onFirstOutput: () => running.send(signal) })
    const { code, stderr } = await running.ended

    expect({ code, stderr }).toEqual({ code: exitCode, stderr: 'Stopped: what was written is not all of it.\n' })
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'by %s leaves the file from before or a whole one',
    async (signal) => {
      writeFileSync(file, 'from before')
      const running = startCli(started('-o', file), { cwd: folder })
      await eventually(
        () => readdirSync(folder),
        (names) => names.length > 1 || readFileSync(file, 'utf8') !== 'from before',
      )
      running.send(signal)
      const { code } = await running.ended
      await eventually(
        () => readdirSync(folder),
        (names) => names.length === 1,
      )

      const isWhole = readFileSync(file, 'utf8').split('\r\n').length === CUSTOMERS + 2
      expect(isWhole || readFileSync(file, 'utf8') === 'from before').toBe(true)
      if (code === 0) expect(isWhole).toBe(true)
    },
  )

  test('that left something behind long ago is forgotten, and what others write is left alone', async () => {
    const [old, recent, other] = [
      '.customers.csv.0123456789abcdef.exporting',
      '.customers.csv.fedcba9876543210.exporting',
      '.other.csv.0123456789abcdef.exporting',
    ]
    for (const name of [old, recent, other]) writeFileSync(join(folder, name), 'half')
    for (const name of [old, other]) utimesSync(join(folder, name), new Date('2026-01-05'), new Date('2026-01-05'))

    expect(await startCli(started('-o', file), { cwd: folder }).ended).toMatchObject({ code: 0 })
    expect(readdirSync(folder).toSorted()).toEqual([recent, other, 'customers.csv'].toSorted())
  })
})

describe('without room', () => {
  test('the file from before stays, and the disk is named', () => {
    writeFileSync(file, 'from before')
    const { code, stderr } = shell(
      `ulimit -f 100; customer-mirror export --format csv --mirror '${mirror.file}' -o customers.csv`,
    )

    expect(code).toBe(5)
    expect(stderr).toBe(
      `${file}: the disk is full, a quota is used up, or the disk failed. Nothing was exported; a file that was there before is ` +
        'unchanged. (EFBIG)\n',
    )
    expect(readFileSync(file, 'utf8')).toBe('from before')
    expect(readdirSync(folder)).toEqual(['customers.csv'])
  })

  test.runIf(existsSync('/dev/full'))('behind standard output it is reported', () => {
    expect(shell(`customer-mirror export --format csv --mirror '${mirror.file}' > /dev/full`)).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(
        /^standard output: the disk is full, .* What was written is not all of it\. \(ENOSPC\)\n$/,
      ),
    })
  })
})

describe('a target that cannot be replaced', () => {
  const REFUSED: [string, () => string, RegExp][] = [
    ['a folder', () => folder, /: is a folder; name a file in it, e\.g\. .*customers\.csv\.$/],
    ['a folder that is not there', () => `${file}/`, /: is a folder; name a file in it/],
    [
      'in a folder that is not there',
      () => join(folder, 'none', 'x.csv'),
      /: its folder does not exist\. Make the folder,/,
    ],
    ['below a file', () => join(mirror.file, 'x.csv'), /: has a file where a folder should be/],
    ['the mirror', () => mirror.file, /: is the mirror itself; name another file\.$/],
    ['its WAL', () => `${mirror.file}-wal`, /: is the mirror itself/],
    ['a journal that it may have', () => `${mirror.file}-journal`, /: is the mirror itself/],
    ['another name of the mirror', () => linked(linkSync), /: is the mirror itself/],
    ['a symbolic link to the mirror', () => linked(symlinkSync), /: is the mirror itself/],
    [
      'a symbolic link',
      () => linked((_, path) => symlinkSync(file, path)),
      /: is a symbolic link; name the file itself, or -/,
    ],
    ['a pipe', () => aPipe(), /: is not a file; name a file, or - for standard output\.$/],
    ['a device', () => '/dev/null', /^\/dev\/null: is not a file/],
    [
      'a name that is too long',
      () => join(folder, 'x'.repeat(230)),
      /: has a name that is too long; at most 200 bytes/,
    ],
  ]

  test.each(someOf(REFUSED))('%s is refused', async (_, target, said) => {
    const { code, stdout, stderr } = await runCli(started('-o', target()), { cwd: folder })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trimEnd()).toMatch(said)
    expect(valueOf(mirror.file, 'PRAGMA quick_check')).toBe('ok')
  })

  test('another mirror is refused, also while all of it is in its WAL', async () => {
    const other = await aMirror()
    const { code, stderr } = await startCli(started('-o', other.file), { cwd: folder }).ended

    expect({ code, stderr }).toEqual({ code: 2, stderr: `${other.file}: is a database; name another file.\n` })
  })

  test.runIf(PLAIN_USER)('a folder of another user is refused', async () => {
    const open = join(folder, 'open')
    for (const path of [folder, dirname(mirror.file)]) chmodSync(path, 0o755)
    for (const name of readdirSync(dirname(mirror.file))) chmodSync(join(dirname(mirror.file), name), 0o644)
    mkdirSync(open)
    chmodSync(open, 0o555)
    const { code, stderr } = await startCli(started('-o', join(open, 'x.csv')), { cwd: '/', ...PLAIN_USER }).ended

    expect(code).toBe(2)
    expect(stderr).toMatch(/x\.csv: this user may not write there\. Check who owns the folder, .* \(EACCES\)\n$/)
  })

  function linked(link: (to: string, path: string) => void): string {
    const path = join(folder, 'link.csv')
    link(mirror.file, path)
    return path
  }

  function aPipe(): string {
    const path = join(folder, 'pipe')
    expect(spawnSync('mkfifo', [path]).status).toBe(0)
    return path
  }
})

test('rows take no more memory the more there are', () => {
  tamper(
    mirror.file,
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)
     INSERT INTO customers (organization, id, name, address, first_seen_at, changed_at, last_run_id, updated_at)
     SELECT 'acme', lower(hex(randomblob(4))) || '-0000-4000-8000-' || printf('%012x', 100000 + i), 'Customer ' || i,
       hex(zeroblob(200)), first_seen_at, changed_at, last_run_id, updated_at FROM n, (SELECT * FROM customers LIMIT 1)`,
  )
  for (const format of inject('isDeep') ? ['csv', 'jsonl', 'parquet'] : ['csv']) {
    const { code, stdout, stderr } = shell(
      `export NODE_OPTIONS=--max-old-space-size=32; set -o pipefail; customer-mirror export --format ${format} --mirror '${mirror.file}' | wc -l`,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: `Exported 63,000 customers\nLast seq: 0\n` })
    if (format !== 'parquet') expect(Number(stdout)).toBeGreaterThanOrEqual(63_000)
  }
})

test('values that other programs stumble over come through every format', async () => {
  const name = `a\0b "c", d;e\r\nf \uD800 😀 =1+1`
  const vip = { text: `\u2028"\uD800`, long: 'x'.repeat(900_000), big: 1e21 }
  await night(mirror, 1, [aCustomer(1, { name, vip }), ...customers(2, CUSTOMERS)])
  const read = async (format: string) =>
    (await startCli(['export', '--format', format, '--mirror', mirror.file], { cwd: folder }).ended).stdout

  const lines = (await read('jsonl')).trimEnd().split('\n')
  const [found] = lines.map((line) => JSON.parse(line)).filter((row) => row.name?.startsWith('a\0'))
  expect(lines).toHaveLength(CUSTOMERS)
  expect(found).toMatchObject({ name: name.toWellFormed() })
  expect(found.extra.vip.long).toHaveLength(900_000)
  expect(await read('csv')).toContain(`"${name.toWellFormed().replaceAll('"', '""')}"`)

  for (const format of ['jsonl', 'csv']) {
    const target = join(folder, `odd.${format}`)
    await startCli(['export', '--format', format, '--mirror', mirror.file, '-o', target], { cwd: folder }).ended
    const table =
      format === 'csv'
        ? `read_csv('${target}', max_line_size = 4000000)`
        : `read_json('${target}', maximum_object_size = 4000000)`
    const rows = await (await aDuckDb()).all(`SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM ${table}`)
    expect(rows, format).toEqual([{ rows: String(CUSTOMERS), ids: String(CUSTOMERS) }])
  }
})
