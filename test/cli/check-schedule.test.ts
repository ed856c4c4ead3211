import { expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { scheduleCommand } from '../../src/cli/schedule.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const NIGHT = { cron: '0 2 * * *', timezone: 'UTC' }

test.each([
  [
    'how many there are and what they may cost',
    { schedule: { ...NIGHT, quick: '*/15 * * * *' } },
    /^✔ quick runs of acme: 96 runs in the next 24 hours, /m,
    /the next at \d{4}-\d\d-\d\d \d\d:(00|15|30|45) UTC, each with at most a twelfth of the requests of a full scan, or 40 if that is more/,
  ],
  [
    'that none is made where each meets a full run',
    { schedule: { ...NIGHT, quick: '00 2 * * 1-5' } },
    /^! quick runs of acme: at each of their moments \("00 2 \* \* 1-5"\) the whole list is read anyway/m,
    /fix: Name moments between the runs of cron, or remove quick\.$/m,
  ],
])('check says %s', async (_what, settings, line, more) => {
  const { stdout, code } = await check(settings)

  expect(code).toBe(0)
  expect(stdout).toMatch(line)
  expect(stdout).toMatch(more)
})

test('check says nothing of quick runs where there are none', async () => {
  expect((await check({ schedule: { ...NIGHT, quick: 'never' } })).stdout).not.toContain('quick')
})

test.each([
  ['a cron line without a moment', { cron: '0 2 30 2 *' }, /its cron line names no moment/],
  ['a quick line without a moment', { quick: '0 0 31 2 *' }, /its quick line names no moment/],
])('check reports %s, as schedule does, beside what is well, and ends with 3', async (_what, settings, problem) => {
  const { config } = await aPlace({ schedule: { ...NIGHT, ...settings } })
  const { code, stdout } = await runCommand(checkCommand, ['--config', config])
  const listed = await runCommand(scheduleCommand, ['--config', config])

  expect(stdout).toContain('✖ schedule of acme: its ')
  expect(stdout).toMatch(problem)
  expect(stdout).toContain('✔ acme: answered')
  expect(code).toBe(3)
  expect(listed.stderr).toMatch(problem)
})

async function check(settings: object) {
  const { config } = await aPlace(settings)
  return runCommand(checkCommand, ['--config', config])
}

async function aPlace(settings: object) {
  return aWorkplace(organizationsOf(await aSandbox({ customers: [1] })), settings)
}
