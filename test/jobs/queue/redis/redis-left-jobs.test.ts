import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { redisLeftJobs } from '../../../../jobs/queue/redis/redis-left-jobs.ts'
import { redisProgram } from '../../../support/redis-server.ts'
import { aRedis } from '../../../support/worker-on-redis.ts'

const MINUTE_MS = 60_000
const YEAR_MS = 365 * 86_400_000

describe.skipIf(redisProgram() === undefined)('on Redis', () => {
  test('a lock that lasts for a year is no obstacle once it is no longer renewed, nor is a look for stalled jobs that does', async () => {
    const { client, found } = await aTakenJob({ lockMs: YEAR_MS, lookMs: YEAR_MS })
    const free = redisLeftJobs(client)

    expect(await free('q', { isGone: () => false, isSilent: () => false })).toBe(0)
    expect(await found()).toEqual({ locked: 1, looked: 1, stalled: [] })

    expect(await free('q', { isGone: () => false, isSilent: () => true })).toBe(1)
    expect(await found()).toEqual({ locked: 0, looked: 0, stalled: ['acme'] })
  })

  test('a look for stalled jobs is made again although no job is left', async () => {
    const { client, found } = await aTakenJob({ lockMs: MINUTE_MS, lookMs: YEAR_MS })

    expect(await redisLeftJobs(client)('q', { isGone: () => false, isSilent: () => true })).toBe(0)
    expect(await found()).toEqual({ locked: 1, looked: 0, stalled: [] })
  })

  test.each([
    ['its worker renews the lock', ['PEXPIRE', 'bull:q:acme:lock', String(MINUTE_MS)]],
    ['another worker takes the job', ['SET', 'bull:q:acme:lock', 'another#1#2#3', 'PX', String(YEAR_MS)]],
  ])('a job stays where it is when %s while it is judged', async (_what, [name = '', ...parameters]) => {
    const { client, found } = await aTakenJob({ lockMs: YEAR_MS, lookMs: MINUTE_MS })
    // Redis answers one after the other: this comes before what frees the job.
    const isSilent = () => Boolean(client.call(name, parameters))

    expect(await redisLeftJobs(client)('q', { isGone: () => false, isSilent })).toBe(0)
    expect(await found()).toEqual({ locked: 1, looked: 1, stalled: [] })
  })

  test('a job whose lock has run out is freed where the worker that took it is gone', async () => {
    const { client, found } = await aTakenJob({ lockMs: MINUTE_MS, lookMs: MINUTE_MS })
    await client.del('bull:q:acme:lock')
    await client.hset('bull:q:acme', 'pb', 'gone#1#2#3')
    const judging = { isGone: (lock: string) => lock === 'gone#1#2#3', isSilent: () => false }

    expect(await redisLeftJobs(client)('q', judging)).toBe(1)
    expect(await found()).toEqual({ locked: 0, looked: 0, stalled: ['acme'] })
  })

  test('what runs out in time is left to that', async () => {
    const { client, found } = await aTakenJob({ lockMs: MINUTE_MS, lookMs: MINUTE_MS })

    expect(await redisLeftJobs(client)('q', { isGone: () => false, isSilent: () => true })).toBe(0)
    expect(await found()).toEqual({ locked: 1, looked: 1, stalled: [] })
  })
})

/** A job that a process of another machine has, as BullMQ keeps it; after the clock was set back its keys stay for longer. */
async function aTakenJob({ lockMs, lookMs }: { lockMs: number; lookMs: number }) {
  const { url } = await aRedis()
  const client = new Redis(url)
  onTestFinished(() => client.disconnect())
  await client.rpush('bull:q:active', 'acme')
  await client.set('bull:q:acme:lock', 'elsewhere#1#2#3', 'PX', lockMs)
  await client.set('bull:q:stalled-check', '1', 'PX', lookMs)
  const found = async () => ({
    locked: await client.exists('bull:q:acme:lock'),
    looked: await client.exists('bull:q:stalled-check'),
    stalled: await client.smembers('bull:q:stalled'),
  })
  return { client, found }
}
