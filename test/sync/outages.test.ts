import { expect, test } from 'vitest'
import { Outages } from '../../src/sync/read-windows.ts'

test.each([
  ['its first answer', 6, false],
  ['its first answer', 7, true],
  ['the next answer', 12, false],
  ['the next answer', 13, true],
])('a service that before %s failed %i times in a row is down: %s', (before, times, isDown) => {
  const outages = new Outages()
  if (before === 'the next answer') {
    fail(outages, 6)
    outages.answered()
  }
  fail(outages, times)

  expect(outages.isDown).toBe(isDown)
})

test('a service that answers in between is not down, and the first error since then is the one to report', () => {
  const outages = new Outages()
  for (let answer = 1; answer <= 10; answer += 1) {
    fail(outages, 5)
    outages.answered()
    expect(outages.first).toBeUndefined()
  }
  fail(outages, 5)

  expect(outages.isDown).toBe(false)
  expect(outages.first).toBe('error 1')
})

function fail(outages: Outages, times: number): void {
  for (let time = 1; time <= times; time += 1) outages.failed(`error ${time}`)
}
