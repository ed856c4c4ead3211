import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { send, webhookHeaders } from '../../jobs/notify.ts'
import { pause } from '../../jobs/pauses.ts'
import { aReceiver, listenHere } from '../support/fault-server.ts'
import { aJobsWorkplace, FAR_AWAY, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

const OFTEN = { notifyLookMs: 20 }
/** On a busy machine an attempt may take longer than the pause, so this is for what is sent again anyway. */
const AGAIN = { notifyLookMs: 20, notifyPauseMs: 20 }
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A folder whose three organizations were due half a year ago, and are caught up on when a worker starts. */
async function aNight(settings: { notify?: object; heartbeat?: object }, { forbidden = [] as string[] } = {}) {
  const sandbox = await aSandbox({ customers: [40, 20, 3], forbidden })
  const place = aJobsWorkplace(organizationsOf(sandbox), settings)
  writeFileSync(join(place.folder, 'secret'), `${SECRET}\n`)
  return place
}

const logged = (kind: string) => (line: { msg: string }) =>
  line.msg === 'night reported' && 'kind' in line && line.kind === kind

test('a night is reported as documented in one signed POST, and a heartbeat follows, however many workers there are', async () => {
  const [report, beat] = [await aReceiver(200), await aReceiver(200)]
  const place = await aNight({
    notify: { url: `${report.url}/hook?token=t0ken`, secret: { file: './secret' } },
    heartbeat: { url: `${beat.url}/ping/t0ken` },
  })
  const workers = [1, 2].slice(0, isEmbedded ? 1 : 2).map(() => startWorker(place, { timings: OFTEN }))
  await Promise.race(workers.map((worker) => worker.said(logged('notify'))))
  await Promise.race(workers.map((worker) => worker.said(logged('heartbeat'))))
  for (const worker of workers) await worker.stop()

  const [post, ...others] = report.received
  expect(others).toEqual([])
  const { headers = {}, body = '' } = post ?? {}
  const sent = { id: String(headers['webhook-id']), body }
  expect(headers).toMatchObject(webhookHeaders(sent, Number(headers['webhook-timestamp']), SECRET))
  expect(post).toMatchObject({ method: 'POST', path: '/hook?token=t0ken' })
  expect(body).not.toContain('certificate')
  expect(JSON.parse(body)).toMatchObject({
    type: 'night.ended',
    data: {
      version: 1,
      wentWell: true,
      totals: { organizations: 3, complete: 3, failed: 0, unfinished: 0, notStarted: 0, inserted: 63 },
      organizations: [
        { organization: 'acme', outcome: 'complete', heldRemovals: 0, run: { received: 40, error: null } },
        ...[{ organization: 'globex' }, { organization: 'initech', run: { inserted: 3, status: 'complete' } }],
      ],
    },
  })
  const guide = readFileSync(new URL('../../docs/operate/monitoring.md', import.meta.url), 'utf8')
  const [, example = ''] = /## A report of each night[\s\S]*?```json\n([\s\S]*?)```/.exec(guide) ?? []
  const real = keysOf(JSON.parse(body))
  const documented = keysOf(JSON.parse(example)).filter((key) => !/\.error\./.test(key))
  expect(documented.length).toBeGreaterThan(20)
  expect(documented.filter((key) => !real.includes(key))).toEqual([])
  expect(real.filter((key) => !documented.includes(key) && !key.includes('.run.'))).toEqual([])
  expect(beat.received).toMatchObject([{ method: 'GET', path: '/ping/t0ken', body: '' }])
  const lines = workers.flatMap((worker) => worker.lines).join('\n')
  expect(body + lines).not.toMatch(/@example|t0ken|whsec_/)
})

/** Every key of a value, with the keys above it; the entries of a list are alike. */
function keysOf(value: unknown, above = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((entry) => keysOf(entry, above)))]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [`${above}.${key}`, ...keysOf(inner, `${above}.${key}`)])
}

test('a night with a failure and a paused organization is reported with the code, does not wait, and has no heartbeat', async () => {
  const [report, beat] = [await aReceiver(200), await aReceiver(200)]
  const settings = { notify: { url: report.url, only: 'failures' }, heartbeat: { url: beat.url } }
  const place = await aNight(settings, { forbidden: ['globex'] })
  const { backend, close } = await someQueues(place.queue, place.mirror)
  await pause(backend.values, ['initech'], { nowMs: Date.now(), untilMs: undefined })
  await close()
  const worker = startWorker(place, { timings: OFTEN })
  await worker.said(logged('notify'))
  await worker.stop()

  expect(report.received).toHaveLength(1)
  expect(report.received[0]?.headers).not.toHaveProperty('webhook-signature')
  expect(JSON.parse(report.received[0]?.body ?? '')).toMatchObject({
    data: {
      ...{ wentWell: false, totals: { complete: 1, failed: 1, notStarted: 1 } },
      organizations: [
        { organization: 'acme', outcome: 'complete' },
        { organization: 'globex', outcome: 'failed', run: { status: 'failed', error: { code: 'forbidden' } } },
        { organization: 'initech', outcome: 'not-started', run: null },
      ],
    },
  })
  expect(beat.received).toEqual([])
})

// While its worker runs, only that sees into an embedded queue.
test.skipIf(isEmbedded)(
  'a good night is not reported where only failures are wanted, and has no heartbeat after a failure in another',
  async () => {
    const [report, beat] = [await aReceiver(200), await aReceiver(200)]
    const settings = { notify: { url: report.url, only: 'failures' }, heartbeat: { url: beat.url } }
    const [acme, globex] = organizationsOf(await aSandbox({ customers: [40, 20], forbidden: ['globex'] }))
    const apart = { ...globex!, schedule: { ...FAR_AWAY, timezone: 'Asia/Kolkata' } }
    const place = aJobsWorkplace([acme!, apart], settings)
    for (const line of ['sync globex', 'pause globex']) await place.run(line)
    const { queues } = await someQueues(place.queue, place.mirror)
    startWorker(place, { timings: OFTEN })
    await expect.poll(() => queues.notify.getJobCountByTypes('completed')).toBe(4)

    expect(beat.received).toEqual([])
    const reported = report.received.map(({ body }) => JSON.parse(body).data.totals)
    expect(reported).toMatchObject([{ organizations: 1, failed: 1 }])
  },
)

test('a report, here the message of a chat, that is not taken is sent again with its id, also by the next worker, and no redirect is followed', async () => {
  const report = await aReceiver(500, 302, 503)
  const notify = { url: report.url, secret: { file: './secret' }, format: 'slack' }
  const place = await aNight({ notify }, { forbidden: ['globex'] })
  const worker = startWorker(place, { timings: AGAIN })
  await expect.poll(() => report.received.length).toBeGreaterThanOrEqual(3)
  await worker.stop()
  report.statuses = [200]
  const next = startWorker(place, { timings: AGAIN })
  await next.said(logged('notify'))
  await next.stop()

  const ids = report.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(1)
  expect(ids.length).toBeGreaterThanOrEqual(4)
  expect(report.received.filter(({ path }) => path !== '/')).toEqual([])
  const said = /^Customer Mirror, night of .*: 1 of 3 organizations did not go well\.\n• globex: failed: /
  expect(JSON.parse(report.received.at(-1)?.body ?? '')).toEqual({ text: expect.stringMatching(said) })
  expect(worker.lines.filter((line) => line.includes('night not reported')).length).toBeGreaterThanOrEqual(2)
})

test('a secret that is none is reported, and the runs go on', async () => {
  const report = await aReceiver(200)
  const place = await aNight({ notify: { url: report.url, secret: { env: 'NO_SUCH_SECRET' } } })
  const worker = startWorker(place, { timings: AGAIN })
  const said = await worker.said(({ msg }) => msg === 'night not reported, another attempt follows')
  await Promise.all(['acme', 'globex', 'initech'].map((id) => worker.ran(id)))
  await worker.stop()

  expect(JSON.stringify(said)).toContain('the secret of notify')
  expect(report.received).toEqual([])
})

/** A receiver that does this with each connection once a request has come. */
async function aReceiverThat(answers: (socket: Socket) => void): Promise<URL> {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => answers(socket)))
  return new URL(`http://127.0.0.1:${await listenHere(server)}/t0ken`)
}

const running = new AbortController().signal

test.each([
  ['an answer without end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', true, 'status 200'],
  ['no HTTP at all', 'hello\r\n\r\n', false, 'HTTPParserError'],
])('%s does not hold it up', async (_what, answer, isTaken, said) => {
  const url = await aReceiverThat((socket) => socket.write(answer))

  expect(await send(url, { body: '{}', signal: running })).toEqual({ isTaken, answer: said })
})

test.each(['http:', 'https:'])('a receiver that never answers does not hold up a stop: %s', async (protocol) => {
  const stopping = new AbortController()
  const url = await aReceiverThat(() => stopping.abort())

  const sent = await send(new URL(url.href.replace('http:', protocol)), { body: '{}', signal: stopping.signal })
  expect(sent).toEqual({ isTaken: false, answer: 'AbortError' })
})

test('a message is signed as Standard Webhooks have it: the vector of their libraries', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

  expect(webhookHeaders(message, 1614265330, secret)).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})
