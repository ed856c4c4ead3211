import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { EXIT_CODES, exitCodeOf, exitCodeOfAll } from '../../src/cli/exit-code.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { MirrorUnusable, QueueUnavailable, type MirrorCode } from '../../src/errors/errors.ts'
import { refusalOf } from '../../src/source/refusal.ts'
import { START_MS } from '../support/builders.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test.each<[MirrorCode, number]>([
  ['busy', 5],
  ['replaced', 5],
  ['full', 5],
  ['gone', 5],
  ['missing', 7],
  ['damaged', 7],
  ['denied', 7],
  ['version', 7],
  ['foreign', 7],
])('a mirror that is %s ends with %d', (code, exitCode) => {
  expect(exitCodeOf(new MirrorUnusable('no', { code }))).toBe(exitCode)
})

test('the exit code for a refusal names each status that is one, and no other', () => {
  const statuses = Array.from({ length: 200 }, (_, index) => 400 + index)
  const refused = statuses.filter((status) => exitCodeOf(refusalOf(anAnswer(status), REQUEST)) === 4)

  expect(EXIT_CODES[4].match(/\d+/g)).toEqual(refused.map(String))
})

test('a queue that cannot be used ends with the code for trying again', () => {
  expect(exitCodeOf(new QueueUnavailable('no'))).toBe(5)
})

test('one code for all is that code, and different ones are 3', () => {
  const locked = new MirrorUnusable('no', { code: 'busy' })

  expect(exitCodeOfAll([locked, locked])).toBe(5)
  expect(exitCodeOfAll([locked, undefined])).toBe(3)
  expect(exitCodeOfAll([locked, new MirrorUnusable('no', { code: 'damaged' })])).toBe(3)
})

test('a mirror that is damaged ends status and sync with 7', async () => {
  const place = await aMirroredPlace()
  const db = new Database(place.mirror)
  db.unsafeMode(true).exec(
    `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'runs'`,
  )
  db.close()

  for (const command of [statusCommand, syncCommand]) {
    const { code, stdout, stderr } = await runCommand(command, ['--config', place.config])
    expect(code).toBe(7)
    expect(stdout + stderr).toContain('is damaged')
  }
})

const REQUEST = {
  url: new URL('https://acme.example.com/api/v1/customers'),
  ...{ place: 'GET /customers', serviceNowMs: START_MS, clockOffsetMs: undefined, correctionMs: 0, secrets: [] },
}

function anAnswer(status: number) {
  const at = { sentMs: START_MS, answeredMs: START_MS, monotonicAnsweredMs: 0 }
  return { status, headers: {}, body: Buffer.of(), text: '{}', ...at }
}

async function aMirroredPlace() {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  await runCommand(syncCommand, ['--config', place.config])
  return place
}
