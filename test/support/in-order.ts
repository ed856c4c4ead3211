import { expect } from 'vitest'

/** Expects the values to rise. */
export function expectInOrder(values: readonly string[]): void {
  expect(values).toEqual(values.toSorted())
}
