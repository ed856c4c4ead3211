import Database from 'better-sqlite3'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLiveMirror } from '../../../jobs/run/live-mirror.ts'
import { anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirror, rowsOf } from '../../support/mirror-file.ts'
import { openMirror } from '../../../src/store/mirror.ts'

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

test('while another program writes, the runs of a worker wait and say so, and its event loop goes on', async () => {
  const { file } = await aMirror()
  const mirror = await openLiveMirror(file)
  const program = new Database(file)
  onTestFinished(() => {
    program.close()
    return mirror.close()
  })
  const start = (organization: string) => mirror.startRun({ organization, trigger: 'schedule', nowMs: START_MS })
  const underWay = await start('acme')
  program.exec('BEGIN IMMEDIATE')
  const onWaiting = vi.fn<() => void>()
  let ended = 0

  const verbs = [
    start('globex'),
    mirror.renewLease(underWay, START_MS),
    mirror.savePages(underWay, [aPage(1, customers(1, 5))], START_MS, onWaiting),
  ]
  for (const verb of verbs) void verb.then(() => (ended += 1))
  await sleep(10)

  expect([ended, onWaiting.mock.calls.length > 0]).toEqual([0, true])
  program.exec('COMMIT')
  await Promise.all(verbs)
  expect(rowsOf(file, 'SELECT COUNT(*) AS customers FROM customers')).toEqual([{ customers: 5 }])
})

test('a worker that is stopped still waits for another program, to record how its runs ended', async () => {
  const { file } = await aMirror()
  const stop = new AbortController()
  const mirror = await openLiveMirror(file, { signal: stop.signal })
  const program = new Database(file)
  onTestFinished(() => {
    program.close()
    return mirror.close()
  })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: START_MS })
  program.exec('BEGIN IMMEDIATE')
  setTimeout(() => program.exec('COMMIT'), 60)

  stop.abort()
  await mirror.finishRun(run, anEnding({ status: 'interrupted', readToEnd: false }), START_MS)

  expect(rowsOf(file, 'SELECT status FROM runs')).toEqual([{ status: 'interrupted' }])
})
