import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { version } from '../../../src/machine/version.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { runCli } from '../../support/run-cli.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

async function aPlaceWithMirror() {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox))
  const worker = startWorker(place)
  await worker.ran('acme')
  return { place, worker, sandbox }
}

test('a worker and run with another mirror end with 5 and name both, until the queue is released', async () => {
  const { place, worker } = await aPlaceWithMirror()
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
  expect(await runCli(['queue', '--release', '--config', place.config], run)).toMatchObject({ code: 0 })
  expect(await runCli(['run', 'acme', '--config', place.config], run)).toMatchObject({ code: 0 })
})

test('a mirror that is made anew at its place has the queue of the one before', async () => {
  const { place, worker } = await aPlaceWithMirror()
  await worker.stop()
  for (const suffix of ['', '-wal', '-shm']) rmSync(place.mirror + suffix, { force: true })
  await startWorker(place).ran('acme')

  expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(30)
})

test('a mirror that is moved keeps its queue, and a new one where it was does not get it', async () => {
  const { place, worker } = await aPlaceWithMirror()
  await worker.stop()
  const moved = join(place.folder, 'moved.db')
  cpSync(place.mirror, moved)
  const config = join(place.folder, 'moved.yaml')
  writeFileSync(config, stringify({ ...parse(readFileSync(place.config, 'utf8')), mirror: moved }))
  const elsewhere = startWorker({ config })
  await elsewhere.said(message('worker started'))
  await elsewhere.stop()
  for (const suffix of ['', '-wal', '-shm']) rmSync(place.mirror + suffix, { force: true })
  const { code, stderr } = await runCli(['worker', '--port', '0', '--config', place.config], { cwd: place.folder })

  expect(code).toBe(5)
  expect(stderr).toContain(moved)
})

test('a job says which version asked for it, and one of a newer version is left to other workers', async () => {
  const { place, worker } = await aPlaceWithMirror()
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
  expect((await queues.sync.getCompleted()).map((job) => job.data.version)).toEqual([version()])
})
