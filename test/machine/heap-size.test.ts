import { expect, test } from 'vitest'
import { startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { YOUNG_MEGABYTES } from '../support/heap-room.ts'

test('a command that reads lists has this room, however it is started', async () => {
  const atExit = `data:text/javascript,process.on('exit',()=>process.stderr.write(String(${YOUNG_MEGABYTES})))`
  const env = { NODE_OPTIONS: `--import=${encodeURI(atExit)}` }
  const { code, stderr } = await startCli(['sync', '--help'], { cwd: temporaryFolder(), env }).ended

  expect(code).toBe(0)
  expect(Number(stderr)).toBeGreaterThanOrEqual(8)
  expect(Number(stderr)).toBeLessThanOrEqual(32)
})
