import { grouped } from '../../text/wording.ts'

export { count, duration, grouped, moment, second } from '../../text/wording.ts'

/** The numbers that are not 0, each with what it counts: `12 new`. */
export function countsOf(numbers: readonly (readonly [number: number, what: string])[]): string[] {
  return numbers.filter(([number]) => number > 0).map(([number, what]) => `${grouped(number)} ${what}`)
}

/** The text quoted as one shell word, for commands that users copy. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The `--config` option for a command shown to the user; empty if the user named no file. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}

/** A text in a statement that users copy. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
