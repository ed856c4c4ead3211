import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('no row is compared with each of many given ones, as PostgreSQL 14 does for <> ALL', () => {
  const folder = fileURLToPath(new URL('../../../src/store', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const slow = files.filter((name) => /<> ALL \(/.test(readFileSync(join(folder, name), 'utf8')))

  expect(files.length).toBeGreaterThan(50)
  expect(slow).toEqual([])
})
