/** The value in a text of JSON; undefined for any other text, such as one that was edited by hand. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
