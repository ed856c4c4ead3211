import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

test('the npm configuration names no registry, no token and no proxy', () => {
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))

  expect(settings).toEqual(['loglevel=error'])
})
