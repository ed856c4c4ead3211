import { spawnSync } from 'node:child_process'
import { linkSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { eventually } from '../support/eventually.ts'
import { aMirrorOfMany, CUSTOMERS } from '../support/full-mirror.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'
import { runCli, runInShell, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { organizationAt } from '../support/workplace.ts'

let mirror: Mirror

let folder: string

let file: string

const started = (...args: string[]) => ['export', '--format', 'csv', '--mirror', mirror.file, ...args]

/** The program as a shell starts it. */
const shell = (command: string) => runInShell(command, { cwd: folder })

beforeEach(async () => {
  mirror = await aMirror(await aMirrorOfMany())
  folder = temporaryFolder()
  file = join(folder, 'customers.csv')
})

const UNREAD = 'The reader of standard output closed it: what was written is not all of it.\n'

describe('a reader', () => {
  test('that has enough is no error, and it is said that there was more', () => {
    const { code, stdout, stderr } = shell(
      `set -o pipefail; customer-mirror export --format csv --mirror '${mirror.file}' | head -c 12`,
    )

    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'organization', stderr: UNREAD })
  })
})

describe('a stop', () => {
  test.each(someOf(['SIGINT', 'SIGTERM', 'SIGKILL'] as const))(
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

      const isWhole = readFileSync(file, 'utf8').split('\r\n').length === CUSTOMERS + 2
      expect(isWhole || readFileSync(file, 'utf8') === 'from before').toBe(true)
      if (code === 0) expect(isWhole).toBe(true)
      // What a killed process left is removed by the next one that writes there.
      if (signal === 'SIGKILL') await runCli(started('-o', join(folder, 'customers.csv')), { cwd: folder })
      expect(readdirSync(folder)).toEqual(['customers.csv'])
    },
  )
})

describe('a target that cannot be replaced', () => {
  const REFUSED: [string, () => string, RegExp][] = [
    ['a folder', () => folder, /: is a folder; name a file in it, e\.g\. .*customers\.csv\.$/],
    ['a folder that is not there', () => `${file}/`, /: is a folder; name a file in it/],
    [
      'in a folder that is not there',
      () => join(folder, 'none', 'x.csv'),
      /: no such file or directory \(stat, ENOENT\)/,
    ],
    ['below a file', () => join(mirror.file, 'x.csv'), /: not a directory \(stat, ENOTDIR\)/],
    ['the mirror', () => mirror.file, /: is the mirror itself; name another file\.$/],
    ['its WAL', () => `${mirror.file}-wal`, /: is where SQLite keeps a part of a database/],
    ['a journal that it may have', () => `${mirror.file}-journal`, /: is where SQLite keeps a part of a database/],
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

  test.each(['-wal', '-shm', '-journal'])(
    'what SQLite would take for the %s of another database is refused',
    async (ending) => {
      const other = await aMirror()
      await other.close()
      const target = `${other.file}${ending}`
      const { code, stderr } = await runCli(started('-o', target), { cwd: folder })

      expect(code).toBe(2)
      expect(stderr).toBe(`${target}: is where SQLite keeps a part of a database; name another file.\n`)
      expect(readdirSync(dirname(other.file))).toEqual(['customers.db'])
    },
  )

  test('the configuration that was read is refused, by any of its names', async () => {
    const config = join(folder, 'customer-mirror.yaml')
    const written = JSON.stringify({
      mirror: mirror.file,
      organizations: [organizationAt({ baseUrl: new URL('http://127.0.0.1:9/') })],
    })
    writeFileSync(config, written)
    linkSync(config, join(folder, 'other.yaml'))

    for (const name of ['customer-mirror.yaml', 'other.yaml']) {
      const { code, stderr } = await runCli(['export', '--format', 'csv', '-o', name], { cwd: folder })
      expect(code).toBe(2)
      expect(stderr).toBe(`${join(folder, name)}: is the configuration; name another file.\n`)
    }
    expect(readFileSync(config, 'utf8')).toBe(written)
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
