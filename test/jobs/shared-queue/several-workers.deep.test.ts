import { expect, test } from 'vitest'
import { redisProgram } from '../../../bench/redis-server.ts'
import { askQueue, probeQueue } from '../../../jobs/queue/backend.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { aRedis, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test.skipIf(redisProgram() === undefined)('two workers use a cluster where their prefix is a hash tag', async () => {
  const sandbox = await aSandbox({ customers: [250, 40, 3] })
  const rateLimit = { shared: 'vendor', requestsPerMinute: 6000 }
  const queue = `${await aCluster()}?prefix={cm}`
  const place = aJobsWorkplace(organizationsOf(sandbox, { rateLimit }), { queue })
  const workers = [startWorker(place), startWorker(place)]
  for (const id of ['acme', 'globex', 'initech']) await Promise.any(workers.map((worker) => worker.ran(id)))
  for (const worker of workers) await worker.stop()
  await probeQueue(queue)
  const untagged = probeQueue(queue.replace('{cm}', 'cm'))
  await expect(untagged).rejects.toThrow(/(CROSSSLOT|MOVED).*a cluster with a hash tag as prefix/)
  const known = await askQueue(queue, 5000, ({ values }) => values.read('mirror'))

  expect(known).toContain(place.mirror)
  const runs = rowsOf(place.mirror, 'SELECT organization, status FROM runs ORDER BY organization')
  const mirrored = ['acme,complete', 'globex,complete', 'initech,complete']
  expect(runs.map((run) => Object.values(run).join())).toEqual(mirrored)
  expect(workers.flatMap(({ lines }) => lines).join()).not.toMatch(/queue fails|rate limit is away/)
})

const SLOTS = ['0 5460', '5461 10922', '10923 16383']

/** The address of one of the servers that share the slots, which agree on that in some seconds. */
async function aCluster(): Promise<string> {
  const servers = await Promise.all(SLOTS.map(() => aRedis({ isCluster: true })))
  for (const [index, server] of servers.entries()) {
    // One that met no other does not know its own address.
    await server.command('CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1')
    await server.command('CLUSTER', 'ADDSLOTSRANGE', ...(SLOTS[index] ?? '').split(' '))
  }
  const [first, ...others] = servers
  for (const { url } of others) await first?.command('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port)
  const agreed = new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${SLOTS.length}`)
  for (const server of servers) await expect.poll(() => server.command('CLUSTER', 'INFO').then(String)).toMatch(agreed)
  return first?.url ?? ''
}
