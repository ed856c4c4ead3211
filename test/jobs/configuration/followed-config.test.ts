import { expect, test } from 'vitest'
import { followConfig } from '../../../jobs/configuration/followed-config.ts'
import { ConfigError } from '../../../src/errors/errors.ts'

test('the same mistakes are reported once a minute, and whenever a user did something', async () => {
  const logged: string[] = []
  let [nowMs, message] = [0, 'is empty']
  const following = Object({
    log: { warn: (facts: { error: { message: string } }) => logged.push(facts.error.message) },
    monotonicMs: () => nowMs,
  })
  const live = Object({
    reading: { modifiedMs: 0, readAtMs: 0 },
    reload: () => Promise.reject(new ConfigError([{ file: 'a.yaml', message }])),
  })
  const followed = followConfig(live, following)

  await followed.refresh('asked')
  await followed.refresh()
  nowMs = 59_999
  await followed.refresh()
  expect(logged.splice(0)).toEqual(['a.yaml is empty'])
  await followed.refresh('saved')
  await followed.refresh()
  expect(logged.splice(0)).toEqual(['a.yaml is empty'])
  message = 'does not exist'
  await followed.refresh()
  nowMs += 60_000
  await followed.refresh()

  expect(logged).toEqual(['a.yaml does not exist', 'a.yaml does not exist'])
})
