/** The beginning of the names of our queues, where the address says none. */
export const DEFAULT_PREFIX = 'customer-mirror'

/** Parses the address of a configuration with our `?prefix=name`, which separates several mirrors in one database. */
export function parseAddress(address: string): { url: URL; prefix: string } {
  const url = new URL(address)
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX
  url.searchParams.delete('prefix')
  return { url, prefix }
}

/** The address for messages, without user and password. */
export function placeOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`
}
