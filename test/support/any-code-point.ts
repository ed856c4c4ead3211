import * as fc from 'fast-check'

/**
 * Any character of Unicode, for `fc.string`, as its unit `binary`: which first makes a table of all of them, and so takes a second of a
 * processor.
 */
export const anyCodePoint = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))
