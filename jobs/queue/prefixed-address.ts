import { QueueUnavailable } from '../../src/errors.ts'

/** The beginning of the names of our queues, where the address says none. */
export const DEFAULT_PREFIX = 'customer-mirror'

/** Parses our `?prefix=name`, which separates several mirrors in one database. */
export function parseAddress(address: string): { url: URL; prefix: string } {
  const url = new URL(address)
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(prefix))
    throw new QueueUnavailable('The queue address has an invalid prefix: use letters, digits, dots and dashes.')
  url.searchParams.delete('prefix')
  return { url, prefix }
}

/** The address for messages, without user and password. */
export function placeOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`
}
