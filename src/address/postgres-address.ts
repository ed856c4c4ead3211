import { isLoopback, withoutBrackets } from './http-address.ts'
import { isLikeAddress, isPostgres } from './mirror-address.ts'

/** Where a mirror or a queue in PostgreSQL is, and how it is reached. */
export type PostgresAddress = NonNullable<ReturnType<typeof parsePostgresAddress>['address']>

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const PARAMETERS = ['schema', 'sslmode', 'sslrootcert', 'host']
/** The queue has one schema, which BullMQ names. */
export const QUEUE_PARAMETERS = PARAMETERS.filter((name) => name !== 'schema')

/** What is wrong with the address of a mirror, as the rest of a sentence; undefined for a good one, and for the path of a file. */
export function addressProblem(text: string, parameters?: readonly string[]): string | undefined {
  if (isPostgres(text)) return parsePostgresAddress(text, parameters).problem
  return isLikeAddress(text) ? MISSPELT : undefined
}

const MISSPELT =
  'must be the path of a file, or a postgres:// address without quotes, such as postgres://user@host:5432/database'

/** Whether an address without a problem holds a password. */
export function holdsPassword(text: string): boolean {
  return isPostgres(text) && parsePostgresAddress(text).address?.password !== undefined
}

/** The parts of an address, or a sentence about its mistake, which repeats nothing but names of known parameters. */
export function parsePostgresAddress(text: string, parameters: readonly string[] = PARAMETERS) {
  const parts = addressParts(text, parameters, EXAMPLE)
  if (parts.problem !== undefined) return { problem: parts.problem }
  const { query, port, user, password, path: database } = parts
  const host = query.get('host') ?? parts.host
  const schema = query.get('schema') ?? 'customer_mirror'
  // Nothing leaves this machine, so TLS is not asked for there.
  const isHere = host.startsWith('/') || isLoopback({ hostname: host })
  const sslmode = query.get('sslmode') ?? (isHere ? 'disable' : 'require')
  const mode = TLS_MODES.find((known) => known === sslmode)
  const rootCertificate = query.get('sslrootcert') ?? undefined
  const problems: [isSo: boolean, problem: string][] = [
    [host === '', `names no server: write ${EXAMPLE}`],
    [host.includes(','), 'names several servers: name one, such as a name that always leads to the primary'],
    [database === '' || database.includes('/'), `must name one database: write ${EXAMPLE}`],
    [/^(?:pg_|information_schema$)/.test(schema), 'has a schema that belongs to PostgreSQL itself: name another'],
    [!/^[a-z_][a-z0-9_]{0,62}$/.test(schema), BAD_SCHEMA],
    [mode === undefined, BAD_MODE],
    [mode === 'verify-ca' && rootCertificate === undefined, WITHOUT_AUTHORITY],
    [mode === 'disable' && rootCertificate !== undefined, 'has sslrootcert, and no TLS to use it: set sslmode'],
    [mode !== 'disable' && host.startsWith('/'), 'has sslmode, and a Unix socket has no TLS: leave it out'],
  ]
  const [, problem] = problems.find(([isSo]) => isSo) ?? []
  if (problem !== undefined || mode === undefined) return { problem: problem ?? BAD_MODE }
  return {
    address: {
      /** A name, an IP address, or the absolute folder of a Unix socket. */
      host,
      /** Without a user and a password, the driver takes PGUSER and PGPASSWORD, or a password file. */
      ...{ port, user, password, database, schema },
      /** `require` encrypts and checks nothing; `verify-ca` checks who signed the certificate; `verify-full` the name in it too. */
      tlsMode: mode,
      /** The file with the certificates to trust; those of Node.js if undefined. */
      rootCertificate,
    },
  }
}

const EXAMPLE = 'postgres://user@host:5432/database'
const BAD_SCHEMA = 'has a bad schema: at most 63 lower-case letters, digits and underscores, the first no digit'
const BAD_MODE = `has a bad sslmode: it must be one of ${TLS_MODES.join(', ')}`
const WITHOUT_AUTHORITY =
  'has sslmode=verify-ca without sslrootcert: name the file with the certificate to trust, or use verify-full'

/** What every address of a server has, decoded, or a sentence about its mistake. A part of a password may stand anywhere, so none is repeated. */
export function addressParts(text: string, parameters: readonly string[], example: string) {
  const url = URL.parse(text)
  if (url === null || url.port === '0') return { problem: `must look like ${example}; ${ESCAPES}` }
  if (url.hash !== '') return { problem: `has a #; ${ESCAPES}` }
  // Else what is left of a password with a / in it would be shown as the name of the database.
  if (url.pathname.includes('@')) return { problem: `has a / before its last @; ${ESCAPES}` }
  const query = url.searchParams
  const names = [...query.keys()]
  if (names.some((name) => !parameters.includes(name)))
    return { problem: `has an unknown parameter: known are ${parameters.join(', ')}; ${ESCAPES}` }
  if (new Set(names).size < names.length) return { problem: 'gives a parameter twice: keep one' }
  try {
    const [host = '', user, password, path = ''] = [
      withoutBrackets(url.hostname),
      url.username,
      url.password,
      url.pathname.slice(1),
    ].map(decodeURIComponent)
    const port = url.port === '' ? undefined : Number(url.port)
    return { host, port, user: user || undefined, password: password || undefined, path, query }
  } catch {
    return { problem: `has a % that begins no escape; ${ESCAPES}` }
  }
}

const ESCAPES = 'in a name or a password write / as %2F, # as %23, ? as %3F, @ as %40 and % as %25'
