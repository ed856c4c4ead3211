import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses an option that is a whole number: from `least` to `most`, or of up to nine digits. */
export function wholeNumber({ least, most }: { least: number; most?: number }): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : NaN
    if (value >= least && value <= (most ?? Infinity)) return value
    const bounds = most === undefined ? `, at least ${least}` : ` from ${least} to ${most}`
    throw new InvalidArgumentError(`It must be a whole number${bounds}.`)
  }
}
