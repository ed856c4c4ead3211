import { appendFileSync, chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status.ts'
import { aMirroredWorkplace } from '../support/commands.ts'
import { metricsOf, PROMTOOL, promtool, readExposition } from '../support/metrics.ts'
import { aMirror, tamper } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'

let place: Awaited<ReturnType<typeof aMirroredWorkplace>>

beforeEach(async () => {
  place = await aMirroredWorkplace([12, 7])
})

const status = (...args: string[]) => runCommand(statusCommand, ['--config', place.config, ...args])

const FORMS = [
  ['status.html', 0o600, ['--html']],
  ['customer-mirror.prom', 0o644, ['--format', 'prometheus', '--output']],
] as const

test.each(FORMS)(
  '%s is one file of its mode, which replaces the one before, with the exit code of status',
  async (...form) => {
    const [name, mode, option] = form
    const file = join(place.folder, name)

    for (let time = 0; time < 2; time += 1) {
      expect(await status(...option, file)).toEqual({ code: 0, stdout: '', stderr: '' })
      chmodSync(file, time === 0 ? 0o640 : mode)
    }
    tamper(place.mirror, `UPDATE runs SET read_as_of = datetime('now', '-27 hours')`)
    expect(await status(...option, file, '--max-age', '26h')).toMatchObject({ code: 3, stdout: '' })

    expect(statSync(file).mode & 0o777).toBe(mode)
    const beside = readdirSync(place.folder).filter((each) => !/^(data|customer-mirror\.yaml)$/.test(each))
    expect(beside).toEqual([name])
    expect((await status(...option, '-')).stdout.slice(0, 200)).toBe(readFileSync(file, 'utf8').slice(0, 200))
  },
)

test('the page shows every organization, and loads and links nothing', async () => {
  const { stdout } = await status('--html', '-')

  expect(stdout).toMatch(/^<!doctype html>/)
  expect(stdout).toMatch(/<meta\s+http-equiv="Content-Security-Policy"\s+content="default-src &#39;none&#39;/)
  for (const { id } of place.organizations) expect(stdout).toContain(`<h3>${id}</h3>`)
  expect(stdout).toContain('None of 2 organizations needs attention.')
  expect(stdout).not.toMatch(/<a href="\//)
})

test('the metrics are what the mirror knows, by the names and with the help of the worker, and without an age', async () => {
  tamper(place.mirror, `UPDATE runs SET read_as_of = '2026-01-04 02:00:00.500' WHERE organization = 'acme'`)
  appendFileSync(place.config, '\nschedule: { cron: "0 2 * * *", timezone: Etc/UTC }\n')
  const { code, stdout } = await status('--format', 'prometheus')
  const families = readExposition(stdout)
  const ofWorker = readExposition((await metricsOf({ mirror: await aMirror(place.mirror) }).lines()).join('\n'))
  const valuesOf = (name: string) => families.get(`customer_mirror_${name}`)?.samples.map(({ value }) => value) ?? []

  expect(code).toBe(0)
  expect(valuesOf('last_success_timestamp_seconds')).toContain(Date.UTC(2026, 0, 4, 2, 0, 0, 500) / 1000)
  expect(valuesOf('open_rejects')).toEqual([0, 0])
  expect(new Date((valuesOf('next_due_timestamp_seconds')[0] ?? 0) * 1000).toISOString()).toMatch(/T02:00:00.000Z$/)
  expect(stdout).not.toContain('_age_seconds')
  for (const [name, { type, help }] of families)
    if (!/_(status|next_due)_timestamp_seconds$/.test(name))
      expect(ofWorker.get(name), name).toMatchObject({ type, help })
  expect(promtool(['check', 'metrics'], stdout)).toBe('')
  if (PROMTOOL === undefined) console.log('untested: promtool check metrics. It is not installed here.')
})

test('the mirror and the configuration are refused as the file of either form, and left as they were', async () => {
  const before = readFileSync(place.config, 'utf8')

  for (const [, , option] of FORMS)
    for (const [target, said] of [
      [place.mirror, 'is the mirror itself'],
      [place.config, 'is the configuration'],
    ] as const)
      expect(await status(...option, target)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
  expect(readFileSync(place.config, 'utf8')).toBe(before)
})

test('where there is no mirror, the file from before stays, so that its age is seen', async () => {
  const file = join(place.folder, 'customer-mirror.prom')
  writeFileSync(file, '# HELP customer_mirror_before x\n')
  writeFileSync(place.config, JSON.stringify({ mirror: './none.db', organizations: place.organizations }))

  expect(await status('--format', 'prometheus', '--output', file)).toMatchObject({ code: 7, stdout: '' })
  expect(readFileSync(file, 'utf8')).toBe('# HELP customer_mirror_before x\n')
})
