import { EventEmitter } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { codeAndReason, queueUnavailable, watchQueue } from '../../../jobs/queue/queue-faults.ts'
import { QueueUnavailable, UsageError } from '../../../src/errors/errors.ts'

const PLACE = 'redis://127.0.0.1:6379'
const OOM = "OOM command not allowed when used memory > 'maxmemory'."

const COMMAND = "ERR unknown command 'auth'"

test.each([
  [`${OOM} script: 0123456789abcdef0123456789abcdef01234567, on @user_script:83.`, OOM],
  [`${COMMAND}, with args beginning with: 'user' 'made-up-password' `, `${COMMAND}.`],
  ['ERR unknown command `AUTH`, with args beginning with: `made-up-password`, ', 'ERR unknown command `AUTH`.'],
  ['cannot reach redis://user:made-up-password@host:6379/0', 'cannot reach redis://host:6379/0.'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'it asks for a password.'],
  ['sorry, too many clients already', 'sorry, too many clients already.', 'max_connections'],
  ['timeout exceeded when trying to connect', 'timeout exceeded when trying to connect.', 'max_connections'],
  ['query_wait_timeout', 'query_wait_timeout.', 'max_connections'],
])('%s is reported with the queue, the reason and the fix, and without a password', (said, quoted, fix = 'Start') => {
  const error = queueUnavailable(new Error(said), PLACE)

  expect(error).toBeInstanceOf(QueueUnavailable)
  expect(error).not.toHaveProperty('cause')
  expect(String(error)).toContain(`The queue at ${PLACE} cannot be used: ${quoted} `)
  expect(String(error)).toContain(fix)
  expect(`${codeAndReason(new Error(said))} ${String(error)}`).not.toMatch(/made-up-password|args|script:|\.\./)
})

test('a certificate that is not trusted is reported with the fix for it, and not as a queue that is not started', () => {
  const said = 'unable to verify the first certificate; try running Node.js with --use-system-ca'
  const untrusted = Object.assign(new Error(said), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })

  for (const error of [untrusted, new AggregateError([untrusted])]) {
    expect(String(queueUnavailable(error, PLACE))).toMatch(/no trusted TLS connection came about.*NODE_EXTRA_CA_CERTS/)
    expect(String(queueUnavailable(error, PLACE))).not.toContain('Start that')
  }
})

test('our own errors and defects of this program are reported unchanged', () => {
  for (const error of [new UsageError('no'), new TypeError('x is not a function')])
    expect(queueUnavailable(error, PLACE)).toBe(error)
})

test('while a queue is lost or refuses writes, the workers pause; it is reported once a minute, and its return as often', async () => {
  const queue = new EventEmitter()
  const lines: object[] = []
  const moves: string[] = []
  let [nowMs, returned, refusals] = [0, 0, 3]
  const pause = async () => void moves.push('pause')
  const worker = Object.assign(new EventEmitter(), { pause, resume: () => moves.push('resume') })
  const write = async () => {
    refusals -= 1
    if (refusals >= 0) throw new Error('READONLY')
  }
  const note = (said: unknown, msg?: string) => lines.push(typeof said === 'object' ? { ...said, msg } : { msg: said })
  const watch = watchQueue({
    ...{ queues: [queue], workers: [worker], write, log: { info: note, warn: note } },
    timings: { lookMs: 5, firstPauseMs: 1, longestPauseMs: 1, settleMs: 1 },
    ...{ random: () => 0.5, monotonicMs: () => nowMs, onBack: () => void (returned += 1) },
  })
  onTestFinished(() => watch.stop())
  for (const atMs of [0, 1, 2, 60_000]) {
    nowMs = atMs
    const before = returned
    queue.emit('error', new Error('connect ECONNREFUSED 127.0.0.1:6379'))
    await expect.poll(() => returned).toBeGreaterThan(before)
  }

  const fails = { reason: 'Error: connect ECONNREFUSED 127.0.0.1:6379', msg: 'queue fails' }
  const back = { msg: 'queue back' }
  expect(lines).toEqual([fails, back, { ...fails, leftOut: 5 }, back])
  expect(moves).toEqual(Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? 'pause' : 'resume')))
})
