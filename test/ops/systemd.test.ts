import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TIMINGS } from '../../jobs/timings.ts'
import { notInTheProgram } from '../support/asked-of-the-program.ts'
import { opsFile } from '../support/metrics.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const PROGRAM = '/usr/local/bin/customer-mirror'
const NAMES = readdirSync(new URL('../../docs/ops/systemd/', import.meta.url))
const SERVICES = NAMES.filter((name) => name.endsWith('.service'))
const unit = (name: string) => opsFile(`systemd/${name}`)

/** The values of a setting of a unit, in their order. */
function valuesOf(name: string, setting: string): string[] {
  return [...unit(name).matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

describe.each(SERVICES)('%s', (name) => {
  test('runs a command that there is, and the words of its settings are of the program', async () => {
    const [[program, ...words] = []] = valuesOf(name, 'ExecStart').map((line) => line.split(' '))
    const variables = valuesOf(name, 'Environment').map((line) => line.replace(/=.*/, ''))

    expect(program).toBe(PROGRAM)
    expect(await notInTheProgram(words)).toEqual([])
    expect(variables.toSorted()).toEqual(['CUSTOMER_MIRROR_CONFIG', 'XDG_CACHE_HOME'])
  })

  test('may write where its command does, and nowhere else', () => {
    const [writable = ''] = valuesOf(name, 'ReadWritePaths')
    const files = valuesOf(name, 'ExecStart').flatMap((line) => line.split(' ').slice(1))
    const written = files.filter((word) => word.startsWith('/'))

    expect(valuesOf(name, 'ProtectSystem')).toEqual(['strict'])
    expect(writable.split(' ')).toContain('/srv/customer-mirror/data')
    expect(written.filter((file) => !writable.split(' ').some((folder) => file.startsWith(`${folder}/`)))).toEqual([])
  })
})

test('the worker has time to stop in good order', () => {
  const [seconds] = valuesOf('customer-mirror-worker.service', 'TimeoutStopSec')

  expect(Number(seconds) * 1000).toBeGreaterThan(TIMINGS.closeMs + 3000)
  expect(valuesOf('customer-mirror-worker.service', 'SuccessExitStatus')).toEqual(['143'])
})

test('each timer starts a service that is there', () => {
  const timers = NAMES.filter((name) => name.endsWith('.timer'))

  expect(timers).toHaveLength(2)
  expect(timers.filter((name) => !SERVICES.includes(name.replace('.timer', '.service')))).toEqual([])
})

if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
  test('the units are not verified, since systemd is not installed here', () => {
    console.log('untested: systemd-analyze verify and security. systemd is not installed here.')
  })
} else {
  test('systemd understands every unit, and a service is exposed to little', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'units'))
    // systemd looks whether the program is there.
    for (const name of NAMES)
      writeFileSync(join(folder, 'units', name), unit(name).replaceAll(PROGRAM, process.execPath))
    const files = (names: readonly string[]) => names.map((name) => join(folder, 'units', name))
    const verified = analyze(['verify', '--man=no', ...files(NAMES)])
    // 0 is exposed to nothing, 10 to everything.
    const secured = analyze(['security', '--offline=true', '--threshold=30', ...files(SERVICES)])

    expect(verified).toEqual({ code: 0, complaints: '' })
    expect(secured).toEqual({ code: 0, complaints: '' })
  })
}

function analyze(args: readonly string[]): { code: number | null; complaints: string } {
  const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { code: status, complaints: stderr }
}
