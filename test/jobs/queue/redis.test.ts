import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBackend, probeQueue } from '../../../jobs/queue/backend.ts'
import { checked } from '../../support/commands.ts'
import { redisProgram, type RedisServer, startRedis } from '../../../bench/redis-server.ts'
import { eventually } from '../../support/eventually.ts'
import { aSilentProxy } from '../../support/fault-server.ts'
import { aRedis, command, REFUSALS } from '../../support/worker-log.ts'

const open = (address: string) => openBackend(address, { folder: tmpdir() }).then(({ close }) => close())

describe.skipIf(redisProgram() === undefined)('on Redis', () => {
  let redis: RedisServer
  beforeAll(async () => (redis = await startRedis()))
  afterAll(() => redis.close())

  test.each([
    ['all of our keys and no others', '~bull:odd-* +@all', undefined],
    ['the keys of one queue', '~bull:odd-probe ~bull:odd-shared ~bull:odd-sync:* +@all', /NOPERM.*keys/],
    ['no scripts', '~* +@all -@scripting', /NOPERM.*'eval'.*its user needs all rights/],
    ['no INFO', '~* +@all -info', /NOPERM.*'info'.*its user needs all rights/],
    ['reading', '~* +@read +@connection +info +eval', /NOPERM.*'set'.*its user needs all rights/],
  ])('a user who is allowed %s is judged before a worker takes jobs, and by check', async (_what, rules, reason) => {
    await redis.command('ACL', 'SETUSER', 'odd', 'reset', 'on', '>made-up', ...rules.split(' '))
    const address = `${redis.url.replace('//', '//odd:made-up@')}?prefix=odd`

    for (const use of [probeQueue, open]) {
      if (reason === undefined) await use(address)
      else await expect(use(address)).rejects.toThrow(reason)
    }
  })

  test.each<[what: string, begin: string, end: string, reason: RegExp | string]>([
    ['is used by another program', 'SET bull:customer-mirror-shared x', 'FLUSHALL', /WRONGTYPE.*prefix=/],
    ...REFUSALS,
  ])('a server that %s is refused before a worker takes jobs, and by check', async (_what, begin, end, reason) => {
    await command(redis, begin)
    for (const use of [probeQueue, open]) await expect(use(redis.url)).rejects.toThrow(reason)
    await command(redis, end)
  })

  test('where its server became a replica, and its address leads to the new primary, a queue goes on there', async () => {
    const [before, now] = [await aRedis(), await aRedis()]
    const follower = await aSilentProxy(Number(new URL(before.url).port))
    const { values, close } = await openBackend(`redis://127.0.0.1:${follower.port}`, { folder: tmpdir() })
    follower.to = Number(new URL(now.url).port)
    await command(before, `REPLICAOF ${new URL(now.url).host.replace(':', ' ')}`)

    await eventually(
      () => values.write('a', '1').catch(String),
      (refused) => refused === undefined,
    )
    expect(await now.command('HGET', 'bull:customer-mirror-shared', 'a')).toBe('1')
    await close()
  })

  test('check creates nothing in a queue that nothing uses, and warns of a server that drops keys when it is full', async () => {
    await redis.command('FLUSHALL')
    const before = await checked({ queue: redis.url })
    expect(await redis.command('KEYS', '*')).toEqual([])
    await command(redis, 'CONFIG SET maxmemory-policy allkeys-lru')
    const { code, stdout } = await checked({ queue: redis.url })

    expect(before.stdout).not.toContain('! queue')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^! queue: .* answered; .*maxmemory-policy allkeys-lru.*\n {4}fix: .*noeviction/m)
  })
})
