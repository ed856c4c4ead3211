import { expect, inject, test } from 'vitest'
import { aPlaceOn, aRedis, command, REFUSALS } from '../../support/worker-log.ts'
import { runCli } from '../../support/run-cli.ts'

const PASSWORD = 'made-up-password-of-the-queue'

const COMMANDS = ['run acme', 'worker --port 0'].flatMap((line) =>
  REFUSALS.slice(0, inject('isDeep') ? 2 : 1).map((refusal) => [line, ...refusal] as const),
)

test.each(COMMANDS)('`%s` ends with 5 for a Redis that %s, and says why and what to do', async (line, ...refusal) => {
  const [, begin, , reason, remedy] = refusal
  const redis = await aRedis({ password: PASSWORD })
  const place = await aPlaceOn(redis)
  await command(redis, begin)
  const { code, stdout, stderr } = await runCli([...line.split(' '), '--config', place.config], { cwd: place.folder })

  expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
  expect(stderr).toMatch(/^The queue at redis:\/\/127\.0\.0\.1:\d+ cannot be used: /)
  for (const part of [reason, remedy, "'customer-mirror sync' needs no queue"]) expect(stderr).toContain(part)
  expect(stderr).not.toMatch(/defect|Unexpected|^\s+at /m)
  expect(stderr).not.toContain(PASSWORD)
})
