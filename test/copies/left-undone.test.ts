import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { afterPlacing, copyError, LeftUndone } from '../../src/copies/copy-error.ts'

test('what the system refuses after a file is in its place is said to be left', () => {
  const refused = () => afterPlacing('the digest is old', () => readFileSync('/nowhere/at/all'))

  expect(refused).toThrow(LeftUndone)
  expect(() => {
    try {
      refused()
    } catch (error) {
      throw copyError(error, '/out/readers.db')
    }
  }).toThrow(
    /^\/out\/readers\.db: is in its place, but the digest is old: no such file or directory \(open, ENOENT\)\. Check the name/,
  )
})

test('a defect of this program is no fault of the disk', () => {
  const defect = new TypeError('x is not a function')
  const failed = () =>
    afterPlacing('the digest is old', () => {
      throw defect
    })

  expect(failed).toThrow(defect)
})
