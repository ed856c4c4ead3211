import { expect, test } from 'vitest'
import { failing } from '../support/run-cli.ts'
import { anAwayOrganization, aWorkplace } from '../support/workplace.ts'
import { move } from '../support/commands.ts'
import { aSqliteMirror } from '../support/full-mirror.ts'

const AWAY = 'postgres://ann@127.0.0.1:1/crm'

test.each<[command: string, settings: object, waiting: RegExp]>([
  ['sync', { maxWait: '10m' }, /ECONNREFUSED\)\. Start the server, .*\nWaiting for it, 10 min at most\./s],
  ['worker', {}, /"longestWaitMs":900000,"msg":"mirror awaited"/],
])('a %s waits for a mirror that is away, says so once, and stops when asked', async (command, defaults, waiting) => {
  const settings = { mirror: AWAY, defaults: { ...defaults }, queue: 'redis://127.0.0.1:1' }
  const stopping = new AbortController()
  const onStderr = (text: string) => waiting.test(text) && stopping.abort()
  const ended = await aWorkplace([anAwayOrganization()], settings).run(command, { signal: stopping.signal, onStderr })

  expect(ended).toMatchObject(failing(5, waiting))
  expect(ended.stderr.match(/Waiting for it|mirror awaited/g)).toHaveLength(1)
})

test('with maxWait 0s a sync whose mirror is away ends at once with 5, as a move does, and neither names the user', async () => {
  const { run } = aWorkplace([anAwayOrganization()], { mirror: AWAY, defaults: { maxWait: '0s' } })

  const stderr = expect.not.stringMatching(/Waiting|ann/)
  expect(await run('sync')).toMatchObject({ code: 5, stdout: '', stderr })
  const { file } = await aSqliteMirror()
  const said = 'postgres://127.0.0.1:1/crm: connect ECONNREFUSED 127.0.0.1:1 (connect, ECONNREFUSED). Start the server'
  expect(await move(file, AWAY)).toMatchObject(failing(5, said))
})
