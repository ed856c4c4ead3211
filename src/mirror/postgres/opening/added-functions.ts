/** The functions of the mirror, which write for its triggers. */
const OURS = /^(?:\w+\.)?note_(?:edited|deleted|truncated)$/

/** What fails in a function because of what it does; not the connection, the disk, a lock or another transaction. */
const ITS_DOING = /^(?:0|2[0-2F]|3|42|44|54|P0)/

/**
 * What is wrong where a statement failed in a function that someone added, for a trigger, an index or a constraint, with its fix. It names
 * the function, and never a value of a row. Undefined for any other error.
 */
export function failedFunction(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error && 'where' in error)) return undefined
  const { code, where } = error
  if (typeof code !== 'string' || typeof where !== 'string' || !ITS_DOING.test(code)) return undefined
  // Calls of functions stand in it from the inmost on, with the statements between them.
  const [, name] = /^(?:PL\/\w+|SQL) function "?([^\s("]+)/m.exec(where) ?? []
  if (name === undefined || OURS.test(name)) return undefined
  // Sentences of this class are about names; others quote values of rows.
  const said = code.startsWith('42') ? ` The server says: ${error.message}.` : ''
  return (
    `the function ${name}, which someone added for a trigger, an index or a constraint, failed or refused this. Nothing of this step was ` +
    `kept: correct or drop it, then try again; the log of the server says why.${said}`
  )
}
