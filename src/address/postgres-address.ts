import { isThisMachine, withoutBrackets } from './http-address.ts'
import { isLikeAddress, isPostgres } from './mirror-address.ts'

/** Where a mirror or a queue in PostgreSQL is, and how it is reached. */
export type PostgresAddress = {
  /** A name, an IP address, or the absolute folder of a Unix socket. */
  host: string
  port: number | undefined
  /** Without these, the driver takes PGUSER and PGPASSWORD, or a password file. */
  user: string | undefined
  password: string | undefined
  database: string
  schema: string
  tls: Tls
}

/** `require` encrypts and checks nothing; `verify-ca` checks who signed the certificate; `verify-full` the name in it too. */
export type Tls = {
  mode: (typeof TLS_MODES)[number]
  /** The file with the certificates to trust; those of Node.js if undefined. */
  rootCertificate: string | undefined
}

export const DEFAULT_SCHEMA = 'customer_mirror'

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const PARAMETERS = ['schema', 'sslmode', 'sslrootcert', 'host']
/** The queue has one schema, which BullMQ names. */
export const QUEUE_PARAMETERS = PARAMETERS.filter((name) => name !== 'schema')

/** What is wrong with the address of a mirror, as the rest of a sentence; undefined for a good one, and for the path of a file. */
export function addressProblem(text: string): string | undefined {
  if (!isPostgres(text)) return isLikeAddress(text) ? MISSPELT : undefined
  const parsed = parsePostgresAddress(text)
  return 'problem' in parsed ? parsed.problem : undefined
}

const MISSPELT =
  'must be the path of a file, or a postgres:// address without quotes, such as postgres://user@host:5432/database'

/** Whether an address without a problem holds a password. */
export function holdsPassword(text: string): boolean {
  const parsed = isPostgres(text) ? parsePostgresAddress(text) : undefined
  return parsed !== undefined && 'address' in parsed && parsed.address.password !== undefined
}

/** The parts of an address, or a sentence about its mistake, which repeats nothing but names of parameters. */
export function parsePostgresAddress(
  text: string,
  parameters: readonly string[] = PARAMETERS,
): { address: PostgresAddress } | { problem: string } {
  const url = URL.parse(text)
  if (url === null) return { problem: portProblem(text) ?? `must look like ${EXAMPLE}` }
  if (url.hash !== '') return { problem: 'has a #: write a # of a name or a password as %23' }
  // Else what is left of a password with a / in it would be shown as the name of the database.
  if (url.pathname.includes('@'))
    return { problem: 'has a / before its last @: write a / of a name or a password as %2F, and an @ as %40' }
  const query = url.searchParams
  const unknown = [...query.keys()].find((name) => !parameters.includes(name))
  if (unknown !== undefined) return { problem: unknownParameter(unknown, parameters) }
  const twice = parameters.find((name) => query.getAll(name).length > 1)
  if (twice !== undefined) return { problem: `gives ${twice} twice: keep one` }
  const parts = {
    host: decoded(query.get('host') ?? withoutBrackets(url.hostname)),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)),
  }
  const { host, user, password, database } = parts
  if (host === undefined || user === undefined || password === undefined || database === undefined)
    return { problem: BAD_ESCAPE }
  const schema = query.get('schema') ?? DEFAULT_SCHEMA
  // Nothing leaves this machine, so TLS is not asked for there.
  const mode = query.get('sslmode') ?? (host.startsWith('/') || isThisMachine(host) ? 'disable' : 'require')
  const rootCertificate = query.get('sslrootcert') ?? undefined
  const problem = problemOf({ host, database, schema, mode, rootCertificate })
  if (problem !== undefined || !isTlsMode(mode)) return { problem: problem ?? '' }
  const port = url.port === '' ? undefined : Number(url.port)
  const given = { user: user || undefined, password: password || undefined }
  return { address: { host, port, ...given, database, schema, tls: { mode, rootCertificate } } }
}

const EXAMPLE = 'postgres://user@host:5432/database'

/** The name of a parameter may be a part of a password with a `?` in it, so only well-formed ones are repeated. */
function unknownParameter(name: string, known: readonly string[]): string {
  const named = /^[a-z_]{1,32}$/.test(name) ? `the parameter ${name}` : 'an unknown parameter'
  return `has ${named}: known are ${known.slice(0, -1).join(', ')} and ${known.at(-1)}`
}

export const BAD_ESCAPE = 'has a % that does not begin an escape: write % itself as %25'

const BAD_PORT = 'has a port that is no number from 1 to 65535; write a / of a password as %2F'

/** The mistake of an address whose port cannot be read; undefined where it is another. The port may be a part of a password: it is not repeated. */
export function portProblem(text: string): string | undefined {
  const [, before, after = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?(?:\[[^\]]*\]|[^/?#@:[\]]+)):[^/?#@]*(.*)$/s.exec(text) ?? []
  return before !== undefined && URL.canParse(before + after) ? BAD_PORT : undefined
}

/** A part of an address; undefined where a % in it begins no escape. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

type Parts = { host: string; database: string; schema: string; mode: string; rootCertificate: string | undefined }

function problemOf({ host, database, schema, mode, rootCertificate }: Parts): string | undefined {
  const problems: [isSo: boolean, problem: string][] = [
    [host === '', `names no server: write ${EXAMPLE}`],
    [host.includes(','), 'names several servers: name one, such as a name that always leads to the primary'],
    [database === '' || database.includes('/'), `must name one database: write ${EXAMPLE}`],
    [/^(?:pg_|information_schema$)/.test(schema), 'has a schema that belongs to PostgreSQL itself: name another'],
    [!/^[a-z_][a-z0-9_]{0,62}$/.test(schema), BAD_SCHEMA],
    [!isTlsMode(mode), `has a bad sslmode: it must be one of ${TLS_MODES.join(', ')}`],
    [mode === 'verify-ca' && rootCertificate === undefined, WITHOUT_AUTHORITY],
    [mode === 'disable' && rootCertificate !== undefined, 'has sslrootcert, and no TLS to use it: set sslmode'],
    [mode !== 'disable' && host.startsWith('/'), 'has sslmode, and a Unix socket has no TLS: leave it out'],
  ]
  return problems.find(([isSo]) => isSo)?.[1]
}

const BAD_SCHEMA = 'has a bad schema: at most 63 lower-case letters, digits and underscores, the first no digit'
const WITHOUT_AUTHORITY =
  'has sslmode=verify-ca without sslrootcert: name the file with the certificate to trust, or use verify-full'

function isTlsMode(text: string): text is Tls['mode'] {
  return TLS_MODES.some((mode) => mode === text)
}
