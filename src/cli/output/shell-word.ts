/** The text as one word of a shell, for commands that are shown to be copied. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The option that names the same configuration file as the command that shows another one; empty where none was named. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}
