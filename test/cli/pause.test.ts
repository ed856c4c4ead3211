import { describe, expect, test } from 'vitest'
import { pauseCommand, resumeCommand } from '../../src/cli/pause.ts'
import { queueCommand } from '../../src/cli/queue.ts'
import { runCommand as runOfWorker } from '../../src/cli/run.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { isEmbedded } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'
import { MOMENT, aPlace } from '../support/pausing.ts'

test('pause and resume say what they did', async () => {
  const { ask } = await aPlace()
  const said = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).stdout

  expect(await said(resumeCommand)).toBe('Nothing was paused.\n')
  expect(await said(resumeCommand, 'acme')).toBe('acme: was not paused\n')
  expect(await said(pauseCommand, 'acme')).toBe('acme: paused until resumed\n')
  expect(await said(pauseCommand, 'acme', '--until', '2999-01-01')).toBe(
    'acme: paused already, since MOMENT; now until MOMENT\n',
  )
  expect(await said(pauseCommand)).toBe('all organizations: paused until resumed\n')
  expect(await said(resumeCommand, 'globex')).toBe('globex: resumed, paused since MOMENT\n')
  expect(await said(resumeCommand)).toBe(
    'all organizations: resumed, paused since MOMENT\nacme: resumed, paused since MOMENT\n',
  )
  expect(await ask(resumeCommand)).toEqual({ code: 0, stdout: 'Nothing was paused.\n', stderr: '' })
})

test('queue names the organizations that were resumed although all are paused', async () => {
  const { ask } = await aPlace()
  await ask(pauseCommand)
  await ask(resumeCommand, 'globex')

  expect((await ask(queueCommand)).stdout).toContain('\nall organizations but globex: paused until resumed: ')
  expect(JSON.parse((await ask(queueCommand, '--json')).stdout).paused).toMatchObject([
    { organization: null, resumed: ['globex'] },
  ])
})

test.each([
  ['an unknown organization', ['acmee'], 'unknown organization "acmee" (did you mean "acme"?)'],
  [
    'a time that has passed',
    ['acme', '--until', '2020-01-01'],
    '--until 2020-01-01 00:00 UTC has passed, so nothing was',
  ],
])('%s ends with 2, and nothing is paused', async (_what, args, message) => {
  const { ask } = await aPlace()

  expect(await ask(pauseCommand, ...args)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(message),
  })
  expect((await ask(resumeCommand)).stdout).toBe('Nothing was paused.\n')
})

describe('where there is no queue', () => {
  test('pause says so, and status does not mind', async () => {
    const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
    await runCommand(syncCommand, ['--config', config])
    const { code, stderr } = await runCommand(pauseCommand, ['--config', config])

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('There is no queue') })
    expect(await runCommand(statusCommand, ['--config', config])).toMatchObject({ code: 0 })
  })

  test('status is as it was while the queue cannot be reached', async () => {
    const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), { queue: 'redis://127.0.0.1:1' })
    await runCommand(syncCommand, ['--config', config])
    const { code, stdout, stderr } = await runCommand(statusCommand, ['--json', '--config', config])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      organizations: [{ organization: 'acme', paused: null, why: ['plain-scan'] }],
    })
  })
})

if (!isEmbedded) {
  test('status shows what is paused, and run asks for no run of it', async () => {
    const { ask, config } = await aPlace()
    const resume = `customer-mirror resume acme --config ${config}`
    await ask(syncCommand)
    await ask(pauseCommand, 'acme', '--until', '2999-01-01')

    const { organizations } = JSON.parse((await ask(statusCommand, '--json')).stdout)
    expect(organizations).toMatchObject([
      { organization: 'acme', why: expect.arrayContaining(['paused']), paused: { until: '2999-01-01T00:00:00.000Z' } },
      { organization: 'globex', paused: null },
    ])
    expect((await ask(statusCommand)).stdout).toContain(`acme: paused since MOMENT, until MOMENT: ${resume}\n`)
    expect(await ask(runOfWorker, 'acme', 'globex')).toMatchObject({
      code: 5,
      stdout: `acme: is paused until MOMENT; nothing was requested. First: ${resume}\nglobex: queued\n`,
    })
    const waited = await ask(runOfWorker, 'acme', '--wait')
    expect(waited.code).toBe(5)
    expect(waited.stderr.replaceAll(MOMENT, 'MOMENT')).toBe(
      'acme: is paused until MOMENT; nothing was requested\n\n✖ acme: paused\n' +
        "  is paused until MOMENT, so no run was started.\n  fix: End the pause with 'customer-mirror resume acme'.\n",
    )
  })
}
