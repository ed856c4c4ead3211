import { expect, test } from 'vitest'
import { AUTO_MOST, AUTO_START } from '../../../src/source/pace/auto-concurrency.ts'
import { faultServer, html, list } from '../../support/fault-server.ts'
import { aMirror, rowsOf } from '../../support/mirror-file.ts'
import { syncSandbox } from '../../support/mirrored-sandbox.ts'
import { aSandbox } from '../../support/workplace.ts'
import { aSource } from '../a-source.ts'
import { virtualTime } from '../virtual-time.ts'
import { soon, readHundred, readUntil } from '../../support/auto-service.ts'

test('a service that cannot answer gets four at once again', async () => {
  const failing = { left: 0 }
  await using server = await faultServer((response, request) => {
    const reply = failing.left > 0 ? html(500) : list(900)
    failing.left -= 1
    void soon(reply)(response, request)
  })
  const { source } = aSource(server, { concurrency: 'auto' })
  await readUntil(source, server, AUTO_MOST)
  for (let time = 0; time < 4; time += 1) {
    failing.left = 1
    await readHundred(source)
  }
  expect(source.atOnce).toBe(AUTO_START)
})

test('a service that allows few in a window, and says how many are left, refuses one a window', async () => {
  const time = virtualTime(0)
  let [used, refused, endMs] = [0, 0, 0]
  await using server = await faultServer((response, request) => {
    if (time.now() >= endMs) [used, endMs] = [0, time.now() + 10_000]
    used += 1
    if (used > 12) refused += 1
    const reply =
      used > 12
        ? html(429, { 'Retry-After': 10, 'X-RateLimit-Remaining': 0 })
        : list(900, { headers: { 'X-RateLimit-Remaining': 12 - used } })
    void soon(reply)(response, request)
  })
  const { source } = aSource(server, { concurrency: 'auto' }, time)
  await readHundred(source)
  // The one that finds out that the window is used up.
  expect(refused).toBeLessThanOrEqual(Math.ceil(100 / 12))
})

test('a run with auto makes the same requests, and the same mirror, as one with four at once', async () => {
  const sandbox = await aSandbox({ customers: 1500 })
  const four = await aMirror()
  const auto = await aMirror()
  const customers = (file: string) => rowsOf(file, 'SELECT id, name, email FROM customers ORDER BY id')
  for (const night of [1, 2]) {
    const expected = await syncSandbox(sandbox, four, { concurrency: 4 })
    const { report } = await syncSandbox(sandbox, auto, { concurrency: 'auto' })
    expect(report, `night ${night}`).toMatchObject({ proof: 'proven', requests: expected.report.requests })
    expect(customers(auto.file)).toEqual(customers(four.file))
  }
})
