import { expect, onTestFinished, test, vi } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { checked } from '../support/commands.ts'
import { aJobsWorkplace, isEmbedded } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test.each([undefined, 'embedded'])('there is nothing to report of the queue %s', async (queue) => {
  const { code, stdout } = await checked(queue === undefined ? {} : { queue })

  expect(code).toBe(0)
  expect(stdout).not.toContain('queue')
})

test.each(['redis://check:pw123@127.0.0.1:1/2?prefix=x', 'postgres://check:pw123@127.0.0.1:1/jobs'])(
  'a queue that cannot be reached ends with 5, without its password: %s',
  async (queue) => {
    const { code, stdout } = await checked({ queue })

    expect(code).toBe(5)
    expect(stdout).toMatch(/^✖ queue: The queue at (redis|postgres):\/\/127\.0\.0\.1:1\/\w+ cannot be used: .*REFUSED/m)
    expect(stdout).toContain('\n    fix: Repair the queue named above')
    expect(stdout).not.toContain('pw123')
    expect(stdout).toMatch(/^✔ acme: answered/m)
  },
)

test('a password in the file is warned of, and one in the environment is not', async () => {
  const address = 'redis://:pw123@127.0.0.1:1'
  const inFile = await checked({ queue: address })
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('CUSTOMER_MIRROR_QUEUE', address)
  const inEnvironment = await checked({ queue: address })

  expect(inFile.stdout).toMatch(
    /^! queue: its password stands in the configuration file.*\n {4}fix: .*CUSTOMER_MIRROR_QUEUE/m,
  )
  expect(inFile.stdout).not.toContain('pw123')
  expect(inEnvironment.stdout).not.toContain('! queue')
})

if (!isEmbedded) {
  test('a queue that answers is reported', async () => {
    const { config, queue } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
    const { code, stdout } = await runCommand(checkCommand, ['--config', config])

    expect(code).toBe(0)
    expect(stdout).toContain(`✔ queue: ${queue.split('?')[0]} answered\n`)
  })
}
