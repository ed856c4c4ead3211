import { expect, test } from 'vitest'
import { codeAndReason, isRefusal, queueUnavailable } from '../../../jobs/queue/queue-faults.ts'
import { QueueUnavailable, UsageError } from '../../../src/errors/errors.ts'

const PLACE = 'redis://127.0.0.1:6379'
const OOM = "OOM command not allowed when used memory > 'maxmemory'."
const SCRIPT = ' script: 0123456789abcdef0123456789abcdef01234567, on @user_script:83.'

test.each([
  [`${OOM}${SCRIPT}`, "OOM command not allowed when used memory > 'maxmemory'."],
  [
    `READONLY You can't write against a read only replica.${SCRIPT}`,
    "READONLY You can't write against a read only replica.",
  ],
  ["ERR unknown command 'evalsha', with args beginning with: '373dd5' '11' ", "ERR unknown command 'evalsha'."],
  ['permission denied for table meta', 'permission denied for table meta.'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'it asks for a password.'],
  ['sorry, too many clients already', 'sorry, too many clients already.'],
  ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED 127.0.0.1:6379.'],
])('%s is reported with the queue, the reason and what to do', (said, quoted) => {
  const error = queueUnavailable(new Error(said), PLACE)

  expect(error).toBeInstanceOf(QueueUnavailable)
  expect(error).not.toHaveProperty('cause')
  expect(String(error)).toContain(
    `The queue at ${PLACE} cannot be used: ${quoted} Start that server, or repair there what`,
  )
  expect(String(error)).not.toMatch(/script:|\.\./)
})

test('a certificate that is not trusted is reported with the fix for it, and not as a queue that is not started', () => {
  const said = 'unable to verify the first certificate; try running Node.js with --use-system-ca'
  const untrusted = Object.assign(new Error(said), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })

  for (const error of [untrusted, new AggregateError([untrusted])]) {
    expect(String(queueUnavailable(error, PLACE))).toMatch(/no trusted TLS connection came about.*NODE_EXTRA_CA_CERTS/)
    expect(String(queueUnavailable(error, PLACE))).not.toContain('Start that')
  }
})

test('an address in what a driver says keeps no password', () => {
  const error = new Error('cannot reach redis://user:made-up-password@host:6379/0')

  expect(`${codeAndReason(error)} ${String(queueUnavailable(error, PLACE))}`).not.toContain('made-up-password')
})

test.each([
  "'auth', with args beginning with: 'user' 'made-up-password' ",
  '`AUTH`, with args beginning with: `made-up-password`, ',
])('a server that knows no passwords repeats them, and we do not: ERR unknown command %s', (command) => {
  const error = new Error(`ERR unknown command ${command}`)

  expect(`${codeAndReason(error)} ${String(queueUnavailable(error, PLACE))}`).not.toMatch(/made-up-password|args/)
  expect(codeAndReason(error)).toMatch(/unknown command .auth.$/i)
})

test.each(['sorry, too many clients already', 'timeout exceeded when trying to connect', 'query_wait_timeout'])(
  'a server or a pooler without a free connection: %s',
  (said) => {
    expect(String(queueUnavailable(new Error(said), PLACE))).toContain(
      'If all its connections are taken, allow more: max_connections there, the limit of the user or of the database, or pool_size of a pooler; each process takes up to 10.',
    )
  },
)

test('our own errors and defects of this program are reported unchanged', () => {
  for (const error of [new UsageError('no'), new TypeError('x is not a function')])
    expect(queueUnavailable(error, PLACE)).toBe(error)
})

test.each([
  ['connect ECONNREFUSED 127.0.0.1:6379', false],
  ['Connection is closed.', false],
  ['Connection terminated unexpectedly', false],
  ['Query read timeout', false],
  ["Socket timeout. Expecting data, but didn't receive any in 60000ms.", false],
  ['the database system is starting up', false],
  [`${OOM}${SCRIPT}`, true],
  ["READONLY You can't write against a read only replica.", true],
])('%s: refused %s', (said, refused) => {
  expect(isRefusal(new Error(said))).toBe(refused)
})
