/** The schema of the mirror where its address names none. */
const DEFAULT_SCHEMA = 'customer_mirror'

/** The schema that an address of a mirror names, and the address of its database for the driver. */
export function schemaAddress(address: string): { schema: string; database: string } {
  const [place = '', query = ''] = address.split(/\?(.*)/s)
  const settings = new URLSearchParams(query)
  const schema = settings.get('schema') ?? DEFAULT_SCHEMA
  settings.delete('schema')
  // The driver checks the certificate in each of these modes, and warns that it may not always do so.
  if (!settings.has('uselibpqcompat') && CHECKED.has(settings.get('sslmode') ?? ''))
    settings.set('sslmode', 'verify-full')
  const rest = settings.toString()
  return { schema, database: rest === '' ? place : `${place}?${rest}` }
}

const CHECKED: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca'])

/** A name in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
