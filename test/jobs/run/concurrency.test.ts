import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const TEN = Array.from({ length: 10 }, () => 5)

test('one organization is mirrored after the other where jobs.concurrency is 1', async () => {
  let [underWay, most] = [0, 0]
  const sandbox = await aSandbox({
    customers: TEN,
    intercept: async (_context, next) => {
      most = Math.max(most, (underWay += 1))
      await sleep(5)
      await next()
      underWay -= 1
    },
  })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { jobs: { concurrency: 1 } })
  const worker = startWorker(place)

  for (const { id } of sandbox.organizations) await worker.ran(id)

  expect(most).toBe(1)
})

test('ten organizations are mirrored at the same time where jobs.concurrency is 10', async () => {
  const allAsk = Promise.withResolvers<void>()
  const asking = new Set<string>()
  const sandbox = await aSandbox({
    customers: TEN,
    intercept: async (context, next) => {
      asking.add(context.req.header('X-API-Key') ?? '')
      // With fewer at the same time, none of them would ever be answered.
      if (asking.size === TEN.length) allAsk.resolve()
      await allAsk.promise
      await next()
    },
  })
  const place = aJobsWorkplace(organizationsOf(sandbox), { jobs: { concurrency: 10 } })
  const worker = startWorker(place)

  for (const { id } of sandbox.organizations) await worker.ran(id)

  expect(asking.size).toBe(10)
})
