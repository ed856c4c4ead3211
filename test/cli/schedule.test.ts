import { expect, test } from 'vitest'
import { z } from 'zod'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const SCHEDULE = { cron: '30 2 * * *', timezone: 'Europe/Paris' }

const printed = z.strictObject({
  schemaVersion: z.literal(1),
  organizations: z.array(
    z.strictObject({
      organization: z.string(),
      cron: z.string().nullable(),
      timezone: z.string().nullable(),
      dueNow: z.boolean(),
      runs: z.array(z.strictObject({ at: z.iso.datetime(), local: z.string(), clocksChange: z.boolean() })),
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

test('without a schedule there are no runs to show', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const { folder } = aWorkplace(organizationsOf(sandbox))

  expect((await runCli(['schedule'], { cwd: folder })).stdout).toMatch(/acme +no schedule/)
})
