/** The text quoted as one shell word, for commands that users copy. */
export function shellWord(text: string): string {
  return /^[\w/.@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The `--config` option for a command shown to the user; empty if the user named no file. */
export function configOption(config: string | undefined): string {
  return config === undefined ? '' : ` --config ${shellWord(config)}`
}
