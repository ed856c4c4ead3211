import { describe, expect, test } from 'vitest'
import { redrawableScreenOf } from '../../src/cli/io.ts'
import { FakeScreen } from '../support/screen.ts'

describe('the lines of a terminal are redrawn', () => {
  test.each([{ TERM: 'xterm-256color' }, {}, { TERM: 'xterm', CI: '' }, { CI: 'false' }])('with %o', (environment) => {
    const screen = new FakeScreen()

    expect(redrawableScreenOf(screen, environment)).toBe(screen)
  })
})

describe('the lines of a terminal stay as they are', () => {
  test.each([{ TERM: 'dumb' }, { TERM: 'xterm', CI: '1' }, { CI: 'true' }])('with %o', (environment) => {
    expect(redrawableScreenOf(new FakeScreen(), environment)).toBeUndefined()
  })
})
