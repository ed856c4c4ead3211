import { readWebhookSecret } from '../../config/credentials.ts'
import type { Config } from '../../config/read-config.ts'
import { failedCheck, type Finding } from './finding.ts'

/** Where nights will be reported, and whether the secret that signs these reports can be read. Nothing is sent. */
export async function* checkNotify({
  notify,
  heartbeat,
}: Pick<Config, 'notify' | 'heartbeat'>): AsyncGenerator<Finding> {
  if (notify !== undefined) yield await checkSecret(notify)
  // A path may hold a token.
  if (heartbeat !== undefined)
    yield { what: 'heartbeat', said: `a request to ${heartbeat.url.host} after each good night` }
}

async function checkSecret({ url, secret, only }: NonNullable<Config['notify']>): Promise<Finding> {
  const what = 'notify'
  const nights = only === 'failures' ? 'each night with a failure' : 'each night'
  const said = `a report of ${nights} to ${url.host}`
  if (secret === undefined) return { what, said: `${said}, not signed` }
  try {
    await readWebhookSecret(secret)
    return { what, said: `${said}, signed` }
  } catch (error) {
    return failedCheck(what, error)
  }
}
