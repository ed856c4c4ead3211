import { expect, test } from 'vitest'
import { pauseCommand, scheduleCommand } from '../../src/cli/queue.ts'

import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const SCHEDULE = { cron: '30 2 * * *', timezone: 'Europe/Paris' }

type Moment = { at: string; local: string }
type Shown = { organization: string; dueNow: boolean; runs: Moment[]; quick: { runs: Moment[] } | null }

async function listed(config: string, ...args: string[]): Promise<Shown[]> {
  const { stdout } = await runCommand(scheduleCommand, ['--json', '--config', config, ...args])
  return JSON.parse(stdout).organizations
}

test('the coming runs are shown in local time and in UTC, with the organizations due now', async () => {
  const [acme, globex, initech] = organizationsOf(await aSandbox({ customers: [10, 10, 10] }))
  const own = [acme!, { ...globex!, schedule: { timezone: 'Asia/Kolkata' } }, initech!]
  const { folder, config } = aWorkplace(own, { schedule: SCHEDULE })
  await runCli(['sync', 'acme', 'globex'], { cwd: folder })
  const [paris, kolkata, due] = await listed(config, '--next', '366')
  const { stdout } = await runCommand(scheduleCommand, ['--next', '366', '--config', config])

  expect([paris, kolkata, due].map((each) => each?.dueNow)).toEqual([false, false, true])
  expect(paris?.runs).toHaveLength(366)
  expect(new Set(paris?.runs.map(({ local }) => local.slice(17)))).toEqual(new Set(['GMT+1', 'GMT+2']))
  for (const { at, local } of kolkata?.runs ?? []) {
    expect(at).toMatch(/T21:00:00.000Z$/)
    expect(local).toContain(' 02:30 GMT+5:30')
  }
  expect(stdout).toMatch(/acme +no +full +\d{4}-\d\d-\d\d 02:30 GMT\+[12] +\d{4}-\d\d-\d\d 0[01]:30 UTC +Europe\/Paris/)
  expect(stdout).toMatch(/initech +yes/)
})

test('quick runs are shown apart from the nights, and where an organization has none, nothing is', async () => {
  const [acme, globex] = organizationsOf(await aSandbox({ customers: [1, 1] }))
  const { config } = aWorkplace([acme!, { ...globex!, schedule: { quick: 'never' } }], {
    schedule: { cron: '30 2 * * *', timezone: 'UTC', quick: '*/15 * * * *', spread: '1h' },
  })
  const [first, second] = await listed(config, '--next', '96')
  const { stdout } = await runCommand(scheduleCommand, ['--next', '3', '--config', config])

  const timesMs = first?.quick?.runs.map(({ at }) => Date.parse(at)) ?? []
  expect(first).toMatchObject({ cron: SCHEDULE.cron, runs: { length: 96 }, quick: { cron: '*/15 * * * *' } })
  expect(timesMs).toHaveLength(96)
  // The spread of an hour is cut to the quarter of an hour from one quick run to the next.
  expect(new Set(timesMs.map((ms) => ms % 900_000)).size).toBe(1)
  expect((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)).toBe(95 * 900_000)
  expect(second?.quick).toBeNull()
  expect(stdout.match(/ GMT /g)).toHaveLength(9)
  expect(stdout.match(/ (full|quick) /g)).toEqual([' full ', ' quick ', ' full '])
})

if (!isEmbedded) {
  test('a paused organization is shown as paused, with its runs after the pause', async () => {
    const { config } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1, 1, 1] })), {
      schedule: { cron: '0 6 * * *', timezone: 'UTC', quick: '*/15 * * * *' },
    })
    await runCommand(pauseCommand, ['acme', '--until', '2999-12-24 05:30', '--config', config])
    await runCommand(pauseCommand, ['globex', '--config', config])
    const { stdout } = await runCommand(scheduleCommand, ['--next', '2', '--config', config])

    for (const said of [
      /^acme +paused +full +2999-12-24 05:30 GMT .*\n +2999-12-24 06:00 GMT/m,
      /^ +quick +2999-12-24 05:45 GMT/m,
      /^globex +paused +– +–/m,
      /^initech +yes/m,
      /^acme: paused since .*, until 2999-12-24 05:30 UTC: customer-mirror resume acme --config \S+$/m,
      /^globex: paused since .* UTC: customer-mirror resume globex --config \S+$/m,
    ])
      expect(stdout).toMatch(said)
    expect(await listed(config, '--next', '2')).toMatchObject([
      { dueNow: false, paused: { until: '2999-12-24T05:30:00.000Z' }, runs: [{ at: '2999-12-24T05:30:00.000Z' }, {}] },
      { dueNow: false, paused: { until: null }, runs: [], quick: { runs: [] } },
      { dueNow: true, paused: null, runs: { length: 2 } },
    ])
  })
}
