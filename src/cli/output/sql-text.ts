/** A text in a statement that users copy. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
