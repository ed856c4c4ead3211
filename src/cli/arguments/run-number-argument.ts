import { InvalidArgumentError } from '@commander-js/extra-typings'

/** Parses the number of a run, as `runs` and `removals` show it, with or without `#`. */
export function runNumber(text: string): number {
  if (/^#?[1-9]\d{0,14}$/.test(text)) return Number(text.replace('#', ''))
  throw new InvalidArgumentError('It must be the number of a run, such as 12.')
}
