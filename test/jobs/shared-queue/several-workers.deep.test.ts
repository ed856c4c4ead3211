import { expect, test } from 'vitest'
import { redisProgram } from '../../../bench/redis-server.ts'
import { askQueue, probeQueue } from '../../../jobs/queue/backend.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { dump, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { aRedis, message, startWorker, startWorkerProcess } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const WAKES = ['after the other run', 'while the other worker reads']

test.each(WAKES)('a worker that was frozen and replaced writes nothing when it wakes up %s', async (wakes) => {
  const gate = aGate({ fromPage: 3 })
  const sandbox = await aSandbox({ customers: [600], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const frozen = startWorkerProcess(place, { timings: { lockMs: 2000 } })
  await gate.reached
  await expect.poll(() => valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(200)

  frozen.send('SIGSTOP')
  const second = startWorker(place, { timings: { lockMs: 2000 } })
  await second.said(message('job taken over from a worker without a heartbeat'))
  // The lease in the mirror outlives the lock in the queue; this is the minute it takes to end.
  tamper(place.mirror, 'UPDATE leases SET expires_at_ms = 0, expires_monotonic_ms = 0')
  if (wakes === WAKES[0]) {
    gate.open()
    await second.ran('acme')
  } else {
    await expect.poll(() => valueOf(place.mirror, 'SELECT received FROM runs WHERE id = 2')).toBe(200)
  }
  const before = dump(place.mirror)
  frozen.send('SIGCONT')
  // It learns of it from the lease when it saves its page, or from the lock when it renews that.
  const woken = await frozen.said(({ report }) => report?.organization === 'acme')
  frozen.send('SIGTERM')
  await frozen.ended

  const { http = '' } = await second.said(message('worker started'))
  expect(await (await fetch(`${http}/metrics`)).text()).toContain('\ncustomer_mirror_jobs_taken_over_total 1\n')
  expect(woken.verdict?.kind).toBe('abandon')
  expect(dump(place.mirror)).toEqual(before)
  gate.open()
  await second.ran('acme')
  expect(rowsOf(place.mirror, 'SELECT status, received FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', received: 200 },
    { status: 'complete', received: 600 },
  ])
})

test.skipIf(redisProgram() === undefined)(
  'two workers mirror by a cluster, where the prefix of their queue is a hash tag',
  async () => {
    const sandbox = await aSandbox({ customers: [250, 40, 3] })
    const rateLimit = { shared: 'vendor', requestsPerMinute: 6000 }
    const queue = `${await aCluster()}?prefix={cm}`
    const place = aJobsWorkplace(organizationsOf(sandbox, { rateLimit }), { queue })
    const workers = [startWorker(place), startWorker(place)]
    for (const id of ['acme', 'globex', 'initech']) await Promise.any(workers.map((worker) => worker.ran(id)))
    for (const worker of workers) await worker.stop()
    await probeQueue(queue)
    await expect(probeQueue(queue.replace('{cm}', 'cm'))).rejects.toThrow(
      /(CROSSSLOT|MOVED).*a cluster with a hash tag as prefix/,
    )
    const known = await askQueue(queue, 5000, ({ values }) => values.read('mirror'))

    expect(known).toContain(place.mirror)
    expect(rowsOf(place.mirror, 'SELECT organization, status FROM runs ORDER BY organization')).toEqual([
      { organization: 'acme', status: 'complete' },
      { organization: 'globex', status: 'complete' },
      { organization: 'initech', status: 'complete' },
    ])
    expect(workers.flatMap(({ lines }) => lines).join()).not.toMatch(/queue fails|rate limit is away/)
  },
)

/** The slots of each server of a cluster. */
const SLOTS = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
]

/** The address of one of the servers that share the slots, which agree on that in some seconds. */
async function aCluster(): Promise<string> {
  const servers = await Promise.all(SLOTS.map(() => aRedis({ isCluster: true })))
  for (const [index, server] of servers.entries()) {
    // One that met no other does not know its own address.
    await server.command('CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1')
    await server.command('CLUSTER', 'ADDSLOTSRANGE', ...(SLOTS[index] ?? []))
  }
  const [first, ...others] = servers
  for (const { url } of others) await first?.command('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port)
  const agreed = new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${SLOTS.length}`)
  for (const server of servers) await expect.poll(() => server.command('CLUSTER', 'INFO').then(String)).toMatch(agreed)
  return first?.url ?? ''
}
