import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimQueue } from '../../../jobs/queue/backend.ts'
import { PROGRAM_VERSION } from '../../../src/machine/version.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { runCli } from '../../support/run-cli.ts'
import { aWorkerOf } from '../../support/worker-log.ts'

test('a worker and run with another mirror end with 5 and name both, until the queue is released', async () => {
  const { place, worker } = await aWorkerOf({ customers: [30] })
  await worker.ran('acme')
  await worker.stop()
  const other = join(place.folder, 'other', 'customers.db')
  const run = { cwd: place.folder, env: { CUSTOMER_MIRROR_MIRROR: other } }
  const refused = await runCli(['worker', '--port', '0', '--config', place.config], run)
  const asked = await runCli(['run', 'acme', '--config', place.config], run)

  for (const { code, stderr } of [refused, asked]) {
    expect(code).toBe(5)
    for (const part of [place.mirror, other, 'queue --release']) expect(stderr).toContain(part)
  }
  expect(await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder })).toMatchObject({ code: 0 })
  const released = { code: 0, stderr: expect.stringContaining(place.mirror) }
  expect(await runCli(['queue', '--release', '--config', place.config], run)).toMatchObject(released)
  expect(await runCli(['run', 'acme', '--config', place.config], run)).toMatchObject({ code: 0 })
})

test.each([
  ['is made anew at its place has the queue of the one before', 'new', '/srv/customers.db', true],
  ['is moved keeps its queue, which the next one at its old place does not get', 'old', '/srv/moved.db', true],
  ['is another one at another place does not get the queue', 'new', '/srv/other.db', false],
])('a mirror that %s', async (_what, id, file, isTaken) => {
  const kept = new Map<string, string>()
  const values = Object({
    read: async (name: string) => kept.get(name),
    write: async (name: string, value: string) => void kept.set(name, value),
    add: async (name: string, value: string) => !kept.has(name) && kept.set(name, value).size > 0,
  })
  const claim = async (identity: string, place: string) => {
    const error = await claimQueue(values, { file: place, identity: async () => identity })
    return error === undefined || expect(error).toMatchObject({ code: 'queue' })
  }

  expect(await claim('old', '/srv/customers.db')).toBe(true)
  expect((await claim(id, file)) === true).toBe(isTaken)
  expect((await claim('newest', '/srv/customers.db')) === true).toBe(file !== '/srv/moved.db')
})

test('a job says which version asked for it, and one of a newer version is left to other workers', async () => {
  const { place, worker } = await aWorkerOf({ customers: [30] })
  await worker.ran('acme')
  const { queues } = await someQueues(place.queue, place.mirror)
  const data = { organization: 'acme', version: '99.0.0', wishes: 'of a later form' }
  for (const queue of [queues.sync, queues.quick])
    await queue.add('manual', data, { jobId: 'acme.newer', attempts: 1, deduplication: { id: 'acme' } })
  await worker.said(({ msg, why }) => msg === 'job left to other workers' && why === 'newer-version')
  await worker.stop()

  for (const queue of [queues.sync, queues.quick]) {
    await expect.poll(() => queue.getJobState('acme.newer')).toMatch(/^(delayed|waiting)$/)
    expect(await queue.getJob('acme.newer')).toMatchObject({ attemptsMade: 0 })
  }
  expect((await queues.sync.getCompleted()).map((job) => job.data.version)).toEqual([PROGRAM_VERSION])
})
