/** What came back over the wire, before anybody asks what it means. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  /** The whole body of a 200; of anything else its beginning, or nothing where it could not be read. */
  text: string
  /** Decoded bytes of the body of a 200; 0 for anything else. */
  bytes: number
  /** Our clock when the request left and when the headers of the answer arrived. */
  sentMs: number
  answeredMs: number
}

/** Header names are lower case. A header sent twice is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The first value of a header, trimmed; undefined when it is absent. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.[0])?.trim()
}
