import { expect, test } from 'vitest'
import { createWriteProbe } from '../../../jobs/queue/write-probe.ts'
import { codeAndReason, isRefusal, queueUnavailable } from '../../../jobs/queue/queue-refusal.ts'
import { QueueUnavailable, UsageError } from '../../../src/errors/errors.ts'

const PLACE = 'redis://127.0.0.1:6379'
const OOM = "OOM command not allowed when used memory > 'maxmemory'."
const SCRIPT = ' script: 0123456789abcdef0123456789abcdef01234567, on @user_script:83.'

test.each([
  [`${OOM}${SCRIPT}`, 'raise its maxmemory'],
  [`READONLY You can't write against a read only replica.${SCRIPT}`, 'the primary'],
  ['cannot execute INSERT in a read-only transaction', 'the primary'],
  ['cannot execute INSERT during recovery', 'the primary'],
  ['MISCONF Redis is configured to save RDB snapshots, but it is unable to', 'Repair that server'],
  ['could not extend file "base/1/2": No space left on device', 'Repair that server'],
  ["ERR unknown command 'evalsha', with args beginning with: '373dd5' '11' ", 'rename-command'],
  [`ERR Unknown Redis command called from script${SCRIPT}`, 'rename-command'],
  [
    "ERR unknown command 'set', with args beginning with: 'bull:customer-mirror-probe' '1' ",
    'the server that it watches',
  ],
  [`ERR The user executing the script can't run this command or subcommand${SCRIPT}`, 'permissions of that user'],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'end that script'],
  ['LOADING Redis is loading the dataset in memory', 'wait until it has'],
  ['DENIED Redis is running in protected mode because', 'default user a password'],
  ['ERR max number of clients reached', 'maxclients'],
  ['write EPIPE', 'may want TLS'],
  ['read ECONNRESET', 'may want TLS'],
  ['write ECONNRESET', 'a certificate of its clients'],
  ['Unknown RESP type 72 "H". Please report this.', 'another kind of server'],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'Repair that server'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'user and password'],
  ['permission denied for table meta', 'user and password'],
  [
    'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
    'it asks for a password. Correct its user and',
  ],
  ['Invalid sslnegotiation value: "odd"', 'variable PGSSLNEGOTIATION'],
  ['invalid value for parameter "replication": "odd"', 'variable PGREPLICATION'],
  ['unrecognized configuration parameter "odd"', 'variable PGOPTIONS'],
  ['too many connections for role "mirror"', 'up to ten connections'],
  ['sorry, too many clients already', 'up to ten connections'],
  ['remaining connection slots are reserved for non-replication superuser connections', 'up to ten connections'],
  ['query_wait_timeout', 'pool_size'],
  ['timeout exceeded: it accepts connections, and does not answer', 'pool_size'],
  ['timeout exceeded: the pooler there gives no second connection', 'pool_size'],
  ['character with byte sequence 0xe2 in encoding "UTF8" has no equivalent in encoding "LATIN1"', "ENCODING 'UTF8'"],
  ['unsupported startup parameter: options', 'variable PGOPTIONS'],
  ['transaction blocks not allowed in statement pooling mode', 'pool_mode = session'],
  [
    'connect ECONNREFUSED 127.0.0.1:6379',
    'Start it, or correct its address: queue in the configuration, or CUSTOMER_MIRROR_QUEUE.',
  ],
])('%s is reported with the queue, the reason and the fix', (said, remedy) => {
  const error = queueUnavailable(new Error(said), PLACE)

  expect(error).toBeInstanceOf(QueueUnavailable)
  expect(error).not.toHaveProperty('cause')
  expect(String(error)).toContain(`The queue at ${PLACE} cannot be used: `)
  expect(String(error)).toContain(remedy)
  expect(String(error)).not.toMatch(/script:|\.\./)
})

test('a server that waits where TLS is asked for is reported as one that may offer none', () => {
  const silent = new Error('no answer within 2 s')

  expect(String(queueUnavailable(silent, 'rediss://127.0.0.1:6379'))).toContain('redis:// if the way')
  expect(String(queueUnavailable(silent, PLACE))).toContain('Start it')
})

test('a certificate that is not trusted is reported with the fix for it, and not as a queue that is not started', () => {
  const said = 'unable to verify the first certificate; try running Node.js with --use-system-ca'
  const untrusted = Object.assign(new Error(said), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })

  for (const error of [untrusted, new AggregateError([untrusted])]) {
    expect(String(queueUnavailable(error, PLACE))).toMatch(/no trusted TLS connection came about.*NODE_EXTRA_CA_CERTS/)
    expect(String(queueUnavailable(error, PLACE))).not.toContain('Start it')
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

test('however many ask, the queue is written once at a time and once in five seconds', async () => {
  let nowMs = 0
  let writes = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const probe = createWriteProbe(
    () => {
      writes += 1
      return writes === 1 ? promise : Promise.reject(new Error('OOM'))
    },
    () => nowMs,
  )
  const asked = [probe(), probe(), probe()]
  nowMs = 60_000
  asked.push(probe())
  resolve()
  await Promise.all(asked)
  nowMs += 4999
  await probe()
  expect(writes).toBe(1)

  nowMs += 1
  await expect(probe()).rejects.toThrow('OOM')
  await expect(probe()).rejects.toThrow('OOM')
  expect(writes).toBe(2)
})
