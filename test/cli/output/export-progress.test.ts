import { expect, test } from 'vitest'
import { exportProgress } from '../../../src/cli/export.ts'
import { FakeScreen } from '../../support/screen.ts'

test('an export shows its rows and their share on one line, a few times a second, and erases it', () => {
  const screen = new FakeScreen({ columns: 80 })
  let nowMs = 0
  const progress = exportProgress(screen, { what: 'customers', clockMs: () => nowMs })

  progress.show(0, 1_000_000)
  expect(screen.text).toBe('Exporting: 0 of 1,000,000 customers, 0 %')
  nowMs = 100
  progress.show(4096, 1_000_000)
  expect(screen.text).toBe('Exporting: 0 of 1,000,000 customers, 0 %')
  nowMs = 200
  progress.show(999_999, 1_000_000)
  expect(screen.text).toBe('Exporting: 999,999 of 1,000,000 customers, 99 %')
  progress.end()
  expect(screen.text).toBe('')
})

test('where it is not known how many there are, their number alone; no line is wider than the screen', () => {
  const screen = new FakeScreen({ columns: 20 })
  exportProgress(screen, { what: 'changes', clockMs: () => 0 }).show(4096, undefined)

  expect(screen.text).toBe('Exporting: 4,096 c…')
  expect(screen.broken).toEqual([])
})
