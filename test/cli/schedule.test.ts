import { expect, test } from 'vitest'
import { z } from 'zod'
import { pauseCommand } from '../../src/cli/pause.ts'
import { scheduleCommand } from '../../src/cli/schedule.ts'
import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const SCHEDULE = { cron: '30 2 * * *', timezone: 'Europe/Paris' }

const moments = z.array(z.strictObject({ at: z.iso.datetime(), local: z.string(), clocksChange: z.boolean() }))

const printed = z.strictObject({
  schemaVersion: z.literal(1),
  organizations: z.array(
    z.strictObject({
      organization: z.string(),
      cron: z.string().nullable(),
      timezone: z.string().nullable(),
      dueNow: z.boolean(),
      paused: z.strictObject({ since: z.iso.datetime(), until: z.iso.datetime().nullable() }).nullable(),
      runs: moments,
      quick: z.strictObject({ cron: z.string(), runs: moments }).nullable(),
    }),
  ),
})

test('the coming runs are shown in local time and in UTC, with the organizations due now', async () => {
  const sandbox = await aSandbox({ customers: [10, 10, 10] })
  const [acme, globex, initech] = organizationsOf(sandbox)
  if (!acme || !globex || !initech) throw new Error('three organizations were asked for')
  const own = [acme, { ...globex, schedule: { timezone: 'Asia/Kolkata' } }, initech]
  const { folder } = aWorkplace(own, { schedule: SCHEDULE })
  await runCli(['sync', 'acme', 'globex'], { cwd: folder })
  const { code, stdout } = await runCli(['schedule', '--next', '366', '--json'], { cwd: folder })
  const table = await runCli(['schedule', '--next', '366'], { cwd: folder })

  const { organizations } = printed.parse(JSON.parse(stdout))
  expect(code).toBe(0)
  expect(organizations.map(({ organization, dueNow }) => [organization, dueNow])).toEqual([
    ['acme', false],
    ['globex', false],
    ['initech', true],
  ])
  const [paris, kolkata] = organizations
  expect(paris?.runs).toHaveLength(366)
  // Twice a year, whatever year it is.
  expect(paris?.runs.filter(({ clocksChange }) => clocksChange)).toHaveLength(2)
  expect(kolkata?.runs.filter(({ clocksChange }) => clocksChange)).toHaveLength(0)
  expect(
    kolkata?.runs.every(({ at, local }) => at.endsWith('T21:00:00.000Z') && local.includes(' 02:30 GMT+5:30')),
  ).toBe(true)
  expect(table.stdout).toMatch(/acme +no +\d{4}-\d\d-\d\d 02:30 GMT\+[12] +\d{4}-\d\d-\d\d 0[01]:30 UTC +Europe\/Paris/)
  expect(table.stdout).toMatch(/initech +yes/)
  expect(table.stdout).toContain('the clocks change on this day')
})

test('quick runs are shown apart from the nights, and where an organization has none, nothing is', async () => {
  const sandbox = await aSandbox({ customers: [1, 1] })
  const [acme, globex] = organizationsOf(sandbox)
  if (!acme || !globex) throw new Error('two organizations were asked for')
  const own = [acme, { ...globex, schedule: { quick: 'never' } }]
  const { folder } = aWorkplace(own, {
    schedule: { cron: '30 2 * * *', timezone: 'UTC', quick: '*/15 * * * *', spread: '1h' },
  })
  const { stdout } = await runCli(['schedule', '--next', '96', '--json'], { cwd: folder })
  const table = await runCli(['schedule', '--next', '3'], { cwd: folder })

  const [first, second] = printed.parse(JSON.parse(stdout)).organizations
  const timesMs = first?.quick?.runs.map(({ at }) => Date.parse(at)) ?? []
  expect(first).toMatchObject({ cron: SCHEDULE.cron, runs: { length: 96 }, quick: { cron: '*/15 * * * *' } })
  expect(timesMs).toHaveLength(96)
  // The spread of an hour is cut to the quarter of an hour from one quick run to the next.
  expect(new Set(timesMs.map((ms) => ms % 900_000)).size).toBe(1)
  expect((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)).toBe(95 * 900_000)
  expect(second?.quick).toBeNull()
  const [nights, quick = ''] = table.stdout.split('\n\n')
  expect(nights?.match(/GMT/g)).toHaveLength(6)
  expect(quick.match(/GMT/g)).toHaveLength(3)
  expect(quick).toContain('next quick runs')
  expect(quick).not.toContain('globex')
})

test('a quick line without a moment is reported', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const { folder } = aWorkplace(organizationsOf(sandbox), { schedule: { ...SCHEDULE, quick: '0 0 31 2 *' } })
  const { code, stderr } = await runCli(['schedule'], { cwd: folder })

  expect(code).toBe(2)
  expect(stderr).toContain('schedule of acme: its quick line names no moment')
})

test('without a schedule there are no runs to show', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const { folder } = aWorkplace(organizationsOf(sandbox))

  expect((await runCli(['schedule'], { cwd: folder })).stdout).toMatch(/acme +no schedule/)
})

if (!isEmbedded) {
  test('a paused organization is shown as paused, with its runs after the pause', async () => {
    const sandbox = await aSandbox({ customers: [1, 1, 1] })
    const { config } = aJobsWorkplace(organizationsOf(sandbox), {
      schedule: { cron: '0 6 * * *', timezone: 'UTC', quick: '*/15 * * * *' },
    })
    await runCommand(pauseCommand, ['acme', '--until', '2999-12-24 05:30', '--config', config])
    await runCommand(pauseCommand, ['globex', '--config', config])
    const asked = ['--next', '2', '--config', config]
    const { stdout } = await runCommand(scheduleCommand, asked)
    const { organizations } = printed.parse(
      JSON.parse((await runCommand(scheduleCommand, [...asked, '--json'])).stdout),
    )

    expect(stdout).toMatch(/^acme +paused +2999-12-24 05:30 GMT .*\n +2999-12-24 06:00 GMT/m)
    expect(stdout).toMatch(/^acme +2999-12-24 05:45 GMT/m)
    expect(stdout).toMatch(/^globex +paused +– +–/m)
    expect(stdout).toMatch(/^initech +yes/m)
    expect(stdout).toMatch(
      /^acme: paused since .*, until 2999-12-24 05:30 UTC: customer-mirror resume acme --config \S+$/m,
    )
    expect(stdout).toMatch(/^globex: paused since .* UTC: customer-mirror resume globex --config \S+$/m)
    expect(organizations).toMatchObject([
      { dueNow: false, paused: { until: '2999-12-24T05:30:00.000Z' }, runs: [{ at: '2999-12-24T05:30:00.000Z' }, {}] },
      { dueNow: false, paused: { until: null }, runs: [], quick: { runs: [] } },
      { dueNow: true, paused: null, runs: { length: 2 } },
    ])
  })
}
