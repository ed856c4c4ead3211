import { expect, test } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { aWorkplace } from '../support/workplace.ts'

const ORGANIZATION = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }

test('a sync whose mirror is away waits for it, says so once and for how long, and Ctrl-C ends the wait', async () => {
  const { folder } = aWorkplace([ORGANIZATION], { mirror: AWAY, defaults: { maxWait: '10m' } })
  const stopping = new AbortController()
  const waiting = /ECONNREFUSED\)\. Start the server, .*\nWaiting for it, 10 min at most\. Ctrl-C ends this\.\n$/s

  const ended = await runCli(['sync'], {
    cwd: folder,
    signal: stopping.signal,
    onStderr: (text) => waiting.test(text) && stopping.abort(),
  })

  expect(ended).toMatchObject({ code: 5, stdout: '' })
  expect(ended.stderr.match(/Waiting for it/g)).toHaveLength(1)
})

test('with maxWait 0s a sync whose mirror is away ends at once, with 5', async () => {
  const { folder } = aWorkplace([ORGANIZATION], { mirror: AWAY, defaults: { maxWait: '0s' } })

  const ended = await runCli(['sync'], { cwd: folder })

  expect(ended).toMatchObject({ code: 5, stdout: '', stderr: expect.not.stringContaining('Waiting') })
})

test('a worker whose mirror is away waits for it, says so, and stops when it is asked to', async () => {
  const waiting = /"longestWaitMs":900000,"msg":"mirror awaited"/
  const { folder } = aWorkplace([ORGANIZATION], { mirror: AWAY, queue: 'redis://127.0.0.1:1' })
  const stopping = new AbortController()

  const ended = await runCli(['worker'], {
    cwd: folder,
    signal: stopping.signal,
    onStderr: (text) => waiting.test(text) && stopping.abort(),
  })

  expect(ended).toMatchObject({ code: 5, stderr: expect.stringMatching(waiting) })
})

/** No server listens there. */
const AWAY = 'postgres://ann@127.0.0.1:1/crm'
