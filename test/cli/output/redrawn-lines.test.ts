import { expect, test } from 'vitest'
import { redrawnLines } from '../../../src/cli/output/redrawn-lines.ts'
import { FakeScreen } from '../../support/screen.ts'

test('lines that are still drawn when the process ends are erased, and printed ones stay', () => {
  const before = new Set(process.listeners('exit'))
  const screen = new FakeScreen()
  const lines = redrawnLines(screen)
  lines.print(['✔ acme'])
  lines.draw(['globex  1,200 customers', '… 3 not begun'])
  lines.draw(['globex  1,300 customers', '… 3 not begun'])
  const [end, ...more] = process.listeners('exit').filter((listener) => !before.has(listener))
  end?.(130)

  expect(more).toEqual([])
  expect(screen.text.trimEnd()).toBe('✔ acme')
  expect(new Set(process.listeners('exit'))).toEqual(before)
})

test('lines that were erased leave nothing behind in the process', () => {
  const before = process.listeners('exit')
  const lines = redrawnLines(new FakeScreen())
  lines.draw(['acme'])
  lines.erase()
  lines.draw(['acme'])
  lines.draw([])

  expect(process.listeners('exit')).toEqual(before)
})
