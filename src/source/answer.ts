/** What came back over the wire, before anybody asks what it means. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  /** The whole body of a 200, decompressed; nothing of anything else. */
  body: Buffer
  /** The beginning of the body of anything but a 200, or nothing where it could not be read. */
  text: string
  /** Our clock when the request left and when the headers of the answer arrived. */
  sentMs: number
  answeredMs: number
  /** The second of these moments by a clock that nothing sets. */
  monotonicAnsweredMs: number
}

/** Header names are lower case. A header sent twice is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The first value of a header, trimmed; undefined when it is absent. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.[0])?.trim()
}
