import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses an option that is a whole number: from `least` to `most`, or of up to so many digits. */
export function wholeNumber({
  least,
  most,
  digits = 9,
}: {
  least: number
  most?: number
  digits?: number
}): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text.trim()) && text.trim().length <= digits ? Number(text) : NaN
    if (value >= least && value <= (most ?? Infinity)) return value
    const bounds = most === undefined ? `, at least ${least}` : ` from ${least} to ${most}`
    throw new InvalidArgumentError(`It must be a whole number${bounds}.`)
  }
}
