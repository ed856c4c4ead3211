import { Option } from '@commander-js/extra-typings'
import { wholeNumber } from './whole-number-argument.ts'

/** `--limit`, for commands that list the latest entries. */
export function limitOption(most: number) {
  return new Option('--limit <number>', 'how many at most').default(most).argParser(wholeNumber({ least: 1 }))
}
