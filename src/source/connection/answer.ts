/** An answer as received, before it is interpreted. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  /** The whole body of a 200, decompressed; empty for any other status. */
  body: Buffer
  /** The beginning of the body if the status is not 200; empty when it could not be read. */
  text: string
  /** Our clock when the request left and when the headers of the answer arrived. */
  sentMs: number
  answeredMs: number
  /** The second of these moments by the monotonic clock. */
  monotonicAnsweredMs: number
}

/** Header names are lower case. A header sent twice is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The first value of a header, trimmed; undefined when it is absent. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.[0])?.trim()
}
