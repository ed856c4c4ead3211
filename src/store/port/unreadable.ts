/** A value in a column of the mirror that this program does not write there: someone changed it. */
export class UnreadableValue extends Error {
  override name = 'UnreadableValue' as const
}

/** What an error says of a value that cannot be read; undefined for any other error. */
export function unreadableIn(error: unknown): string | undefined {
  if (error instanceof UnreadableValue) return error.message
  // The message of JSON.parse quotes what may be a value of a customer.
  return error instanceof SyntaxError ? 'holds a text that should be JSON, and cannot be read' : undefined
}
