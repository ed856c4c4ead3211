import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../../src/mirror/sqlite/sqlite-mirror.ts'
import { START_MS } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'

test('a person may end what waits for a mirror that another program has locked: it is heard', async () => {
  const { file } = await aMirror()
  const stop = new AbortController()
  const mirror = await openMirror(file, { signal: stop.signal })
  const program = new Database(file)
  onTestFinished(() => {
    program.close()
    return mirror.close()
  })
  program.exec('BEGIN IMMEDIATE')
  const waiting = [
    mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS }),
    openMirror(file, { signal: stop.signal }),
  ]
  // A timer, as a signal, is heard by an event loop that is not blocked.
  setTimeout(() => stop.abort(), 1)

  const ends = waiting.map((each) => each.catch((error: unknown) => ({ error, wasHeard: stop.signal.aborted })))
  const ended = { error: { code: 'busy' }, wasHeard: true }
  expect(await Promise.all(ends)).toMatchObject([ended, ended])
})

test('a mirror that another program locks for a moment is opened, and its verbs go on', async () => {
  const { file } = await aMirror()
  const { signal } = new AbortController()
  const program = new Database(file)
  onTestFinished(() => void program.close())
  program.exec('BEGIN IMMEDIATE')
  setTimeout(() => program.exec('COMMIT'), 1)

  const mirror = await openMirror(file, { signal })
  onTestFinished(() => mirror.close())
  program.exec('BEGIN IMMEDIATE')
  setTimeout(() => program.exec('COMMIT'), 1)

  expect(await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })).toMatchObject({ id: 1 })
})
