import { appendFileSync, chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status.ts'
import { aMirroredWorkplace } from '../support/commands.ts'
import { type Family, metricsOf, promtool, PROMTOOL, readExposition } from '../support/metrics.ts'
import { aMirror, tamper } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aWorkplace, organizationAt } from '../support/workplace.ts'

const PROMETHEUS = ['--format', 'prometheus']

test('status --format prometheus prints what the mirror knows, by the names and with the help of the worker', async () => {
  const { config, mirror } = await aMirroredWorkplace([12, 7])
  tamper(mirror, `UPDATE runs SET read_as_of = '2026-01-04 02:00:00.500' WHERE organization = 'acme'`)
  const { code, stdout, stderr } = await status(config, ...PROMETHEUS)
  const families = readExposition(stdout)
  const ofWorker = readExposition((await metricsOf({ mirror: await aMirror(mirror) }).lines()).join('\n'))

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(families.get('customer_mirror_last_success_timestamp_seconds')?.samples).toContainEqual(
    sampleOf('last_success_timestamp_seconds', 'acme', Date.UTC(2026, 0, 4, 2, 0, 0, 500) / 1000),
  )
  expect(families.get('customer_mirror_open_rejects')?.samples).toEqual(
    ['acme', 'globex'].map((id) => sampleOf('open_rejects', id, 0)),
  )
  expect(families.get('customer_mirror_build_info')?.samples[0]?.labels['version']).toMatch(/^\d+\.\d+\.\d+/)
  for (const [name, { type, help }] of families)
    if (name !== 'customer_mirror_status_timestamp_seconds') {
      expect(ofWorker.get(name), name).toMatchObject({ type, help })
    }
  expect(promtool(['check', 'metrics'], stdout)).toBe('')
  if (PROMTOOL === undefined) console.log('untested: promtool check metrics. It is not installed here.')
})

test('an organization that is due has the moment, and no age stands in a text that is read later', async () => {
  const { config } = await aMirroredWorkplace()
  appendFileSync(config, '\nschedule: { cron: "0 2 * * *", timezone: Etc/UTC }\n')
  const { stdout } = await status(config, ...PROMETHEUS)
  const [due] = readExposition(stdout).get('customer_mirror_next_due_timestamp_seconds')?.samples ?? []

  expect(new Date((due?.value ?? 0) * 1000).toISOString()).toMatch(/T02:00:00.000Z$/)
  expect(stdout).not.toContain('_age_seconds')
})

test('--output writes one file that node_exporter can read, and replaces it as a whole', async () => {
  const { folder, config } = await aMirroredWorkplace()
  const file = join(folder, 'customer-mirror.prom')

  for (let time = 0; time < 2; time += 1) {
    expect(await status(config, ...PROMETHEUS, '--output', file)).toEqual({ code: 0, stdout: '', stderr: '' })
    chmodSync(file, time === 0 ? 0o600 : 0o644)
  }

  expect([...readExposition(readFileSync(file, 'utf8')).keys()]).toContain('customer_mirror_status_timestamp_seconds')
  expect(statSync(file).mode & 0o777).toBe(0o644)
  expect(readdirSync(folder).filter((name) => name.endsWith('.prom') || name.includes('unfinished'))).toEqual([
    'customer-mirror.prom',
  ])
})

test('the exit code is that of status: 3 for what is too old, and the metrics are written all the same', async () => {
  const { folder, config, mirror } = await aMirroredWorkplace()
  const file = join(folder, 'customer-mirror.prom')
  tamper(mirror, `UPDATE runs SET read_as_of = datetime('now', '-27 hours')`)

  expect(await status(config, ...PROMETHEUS, '-o', file, '--max-age', '26h')).toMatchObject({ code: 3, stdout: '' })
  expect(readExposition(readFileSync(file, 'utf8')).size).toBeGreaterThan(3)
})

test('without a mirror it ends with 7, and the file from before stays, so that its age is seen', async () => {
  const { folder, config } = aWorkplace([organizationAt({ baseUrl: new URL('http://127.0.0.1:1') })])
  const file = join(folder, 'customer-mirror.prom')
  writeFileSync(file, '# HELP customer_mirror_before x\n')

  expect(await status(config, ...PROMETHEUS, '--output', file)).toMatchObject({ code: 7, stdout: '' })
  expect(readFileSync(file, 'utf8')).toBe('# HELP customer_mirror_before x\n')
})

test.each([
  ['the configuration', (_: string, config: string) => config, /was not made by this command/],
  ['a folder', (folder: string) => folder, /is a folder; name a file in it, e\.g\. .*customer-mirror\.prom/],
  ['no name', () => '', /The name of the file is empty/],
])('--output refuses %s and leaves it as it was', async (_what, targetIn, says) => {
  const { folder, config } = await aMirroredWorkplace()
  const before = readFileSync(config, 'utf8')

  expect(await status(config, ...PROMETHEUS, '--output', targetIn(folder, config))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(says),
  })
  expect(readFileSync(config, 'utf8')).toBe(before)
})

test.each([
  [['--json', ...PROMETHEUS], /cannot be used with option/],
  [['--html', 'x.html', ...PROMETHEUS], /cannot be used with option/],
  [['--output', 'x.prom'], /--output goes with --format prometheus/],
  [['--json', '--output', 'x.json'], /--output goes with --format prometheus/],
  [['--format', 'json'], /Allowed choices are prometheus/],
])('%j is refused', async (args, says) => {
  const { config } = aWorkplace([organizationAt({ baseUrl: new URL('http://127.0.0.1:1') })])

  const { code, stderr } = await runCli(['status', '--config', config, ...args], { cwd: dirname(config) })
  expect(code).toBe(2)
  expect(stderr).toMatch(says)
})

function sampleOf(name: string, organization: string, value: number): Family['samples'][number] {
  return { name: `customer_mirror_${name}`, labels: { organization }, value }
}

function status(config: string, ...args: string[]) {
  return runCommand(statusCommand, ['--config', config, ...args])
}
