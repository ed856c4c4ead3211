import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'
import { customers } from '../support/builders.ts'
import { aPlayedFile, mirrorPages, valueOf, temporaryFolder } from '../support/mirror-file.ts'
import { type Ended, startCli } from '../support/run-cli.ts'
import { seeds } from '../support/seeds.ts'
import { anAwayOrganization, aWorkplace, type Workplace } from '../support/workplace.ts'

/*
 * Commands that write files, while the n-th of their calls that changes a file there fails, or is the last of a process that is killed.
 * Whatever n is, what was there before or what was to be written is there, and the next command leaves nothing beside it.
 */

const CUSTOMERS = 200
const SOURCE = fileURLToPath(new URL('../support/failing-calls.c', import.meta.url))
/** Without a compiler, or a system that can load a library before a program, these are not run. */
const canFail = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

let here: Workplace
let shim: string

beforeEach(async () => {
  here = aWorkplace([anAwayOrganization()])
  await aPlayedFile((mirror) => mirrorPages(mirror, [customers(1, CUSTOMERS)]), here.mirror)
  shim = join(temporaryFolder(), 'failing-calls.so')
  execFileSync('cc', ['-shared', '-fPIC', '-o', shim, SOURCE, '-ldl'])
})

function run(args: readonly string[], fault: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return startCli(args, { cwd: here.folder, env: fault }).ended
}

const rowsIn = (name: string) => {
  const file = resolve(here.folder, name)
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
  return valueOf(file, 'SELECT count(*) FROM customers')
}

const linesIn = (name: string) => readFileSync(join(here.folder, name), 'utf8').split('\r\n').length

describe.runIf(canFail)('a call that fails, or a kill at it,', () => {
  test.each<[string, string[], string, () => unknown]>([
    ['publish', ['publish', 'out/c.db'], 'out', () => rowsIn('out/c.db')],
    ['backup', ['backup', 'out/b.db', '--keep', '3'], 'out', () => rowsIn('out/b.db')],
    ['export', ['export', '--format', 'csv', '-o', 'out/e.csv'], 'out', () => linesIn('out/e.csv') - 2],
    ['restore', ['restore', 'saved/b.db'], 'data', () => rowsIn(here.mirror)],
  ])('leaves what was there before or what %s was to write', async (_, args, under, count) => {
    await run(['backup', 'saved/b.db'])
    await run(['backup', 'out/first.db'])
    expect(await run(args)).toMatchObject({ code: 0 })
    const trials = seeds(30, { least: 3 })
    const codes = new Set<number | null>()
    const { ENOSPC, EIO } = constants.errno
    for (let trial = 0; trial < trials; trial += 1) {
      const fault = {
        LD_PRELOAD: shim,
        FAULT_UNDER: join(here.folder, under),
        FAULT_AT: String(Math.ceil(1.17 ** trial)),
        FAULT_ERRNO: String([ENOSPC, EIO, 0][trial % 3]),
      }
      const ended = await run(args, fault)

      expect([0, 2, 5, 7, null], ended.stderr).toContain(ended.code)
      expect(ended.stderr).not.toContain('Unexpected')
      codes.add(ended.code)
      expect(count()).toBe(CUSTOMERS)
    }
    // The process that publishes is one of its own, whose end is reported.
    const expected = args[0] === 'publish' ? [5] : [5, null]
    expect([...codes], 'calls fail, and processes are killed').toEqual(expect.arrayContaining(expected))
    expect(await run(args)).toMatchObject({ code: 0 })
    expect(count()).toBe(CUSTOMERS)
    const left = readdirSync(join(here.folder, under), { recursive: true, encoding: 'utf8' })
    expect(left.filter((name) => /(^|\/)\./.test(name))).toEqual([])
    expect(existsSync(join(here.folder, under))).toBe(true)
  })
})
