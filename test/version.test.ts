import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { expect, test, vi } from 'vitest'
import { version } from '../src/version.ts'

test('the version is read once, so that no later run needs a file for it', () => {
  expect(version()).toMatch(/^\d+\.\d+\.\d+/)
  const reading = vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw new Error('EMFILE: too many open files')
  })
  syncBuiltinESMExports()
  try {
    expect(version()).toMatch(/^\d+\.\d+\.\d+/)
  } finally {
    reading.mockRestore()
    syncBuiltinESMExports()
  }
})
