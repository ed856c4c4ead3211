import { expect, test } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { privateName, underItsName } from '../../src/reading/files/placed-file.ts'

test('an error of a file that is being made names the file that it will be', () => {
  const file = '/data/customers.db'
  const path = privateName(file, 'move')
  const error = new MirrorUnusable(`${path}: the disk failed.`, { code: 'denied' })

  expect(underItsName(error, { path, file })).toBe(error)
  expect(error.message).toBe('/data/customers.db: the disk failed.')
})

test('what was not thrown on purpose stays as it is', () => {
  const defect = new TypeError('/data/.customers.db is not a function')
  expect(underItsName(defect, { path: '/data/.customers.db', file: 'x' })).toBe(defect)
  expect(defect.message).toBe('/data/.customers.db is not a function')
})
