/** Messages by field. */
export type Details = Record<string, string[]>

/** The error envelope of the specification. */
export type ErrorEnvelope = { success: false; error: string; message: string; details: Details }

/** The error statuses the service uses, each with its machine-readable code. The specification leaves the codes open. */
const ERROR_CODES = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  422: 'validation_error',
  429: 'rate_limited',
  500: 'server_error',
} as const
export type ErrorStatus = keyof typeof ERROR_CODES

/** The body of an answer with an error status. */
export function errorEnvelope(status: ErrorStatus, message: string, details: Details = {}): ErrorEnvelope {
  return { success: false, error: ERROR_CODES[status], message, details }
}
