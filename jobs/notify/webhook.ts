import { createHmac } from 'node:crypto'

/** A message, to be sent as it is. */
export type Message = { id: string; body: string }

/**
 * The headers of a webhook as https://www.standardwebhooks.com has them; without a secret it is not signed. The id stays the same when a
 * message is sent again, the time does not.
 */
export function webhookHeaders(
  { id, body }: Message,
  { unixSeconds, secret }: { unixSeconds: number; secret: string | undefined },
): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(unixSeconds) }
  if (secret === undefined) return headers
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${unixSeconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}
