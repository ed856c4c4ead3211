import { expect, test } from 'vitest'
import { eraseStanding, redrawnLines } from '../../../src/cli/output/redrawn-lines.ts'
import { FakeScreen } from '../../support/screen.ts'

test('lines that are still drawn when the process ends are erased, and printed ones stay', () => {
  const screen = new FakeScreen()
  const lines = redrawnLines(screen)
  lines.print(['✔ acme'])
  lines.draw(['globex  1,200 customers', '… 3 not begun'])
  lines.draw(['globex  1,300 customers', '… 3 not begun'])

  eraseStanding()

  expect(screen.text).toBe('✔ acme')
})

test('lines that were erased before are not erased once more', () => {
  const screen = new FakeScreen()
  const lines = redrawnLines(screen)
  lines.draw(['acme'])
  lines.erase()
  screen.write('Mirror: customers.db\n')

  eraseStanding()

  expect(screen.text).toBe('Mirror: customers.db')
})
