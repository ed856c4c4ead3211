import { InvalidArgumentError } from '@commander-js/extra-typings'
import { durationMs } from '../../time/duration-text.ts'

/** Parses a time option, a number with its unit as in the configuration, into milliseconds. */
export function durationArgument({
  most,
  least = '0s',
  examples,
}: {
  most: string
  least?: string
  examples: string
}): (text: string) => number {
  const mostMs = durationMs(most) ?? Number.POSITIVE_INFINITY
  const leastMs = durationMs(least) ?? 0
  return (text) => {
    const ms = durationMs(text.trim())
    if (ms !== undefined && ms >= leastMs && ms <= mostMs) return ms
    const bound = ms === undefined ? '' : ms < leastMs ? ` At least ${least}.` : ` At most ${most}.`
    const alone = /^\d+(\.\d+)?$/.test(text.trim()) ? ' A number needs its unit: ms, s, m, h or d.' : ''
    throw new InvalidArgumentError(`It must be a time such as ${examples}.${bound}${alone}`)
  }
}
