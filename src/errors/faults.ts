import { constants } from 'node:os'
import { MirrorUnusable, type Fault } from './errors.ts'

/** Where something failed: at a file, at what a sound file of ours holds, in PostgreSQL, or in a bucket. */
export type Where = 'file' | 'contents' | 'postgres' | 'bucket'

/** A class, and what was reported: its words, the failed call and the code. */
export type Seen = { fault: Fault; said: string }

/** The one sentence of each class, which follows what was reported. Places without one of their own have that of a file. */
const SENTENCES: Readonly<Record<Fault, { file: string } & Partial<Record<Where, string>>>> = {
  full: {
    file: 'Free some space on that disk, and in the folder for temporary files (TMPDIR), or check the disk; then try again.',
    postgres:
      'Nothing of this step was kept; free some space there, raise the limit that it names, or check its disk, then try again.',
    bucket: 'Free some space there, or raise its quota, then try again.',
  },
  busy: {
    file: 'Close the program that uses it, or try again when it is done; where too many files are open, raise the limit (ulimit -n).',
    postgres: 'Close the programs that use the same rows or tables, or keep it busy, or try again when they are done.',
  },
  denied: {
    file: 'Check the name, who owns it and its folder, and whether this user may read and write them; or name another place.',
    postgres:
      'Check the address and its sslmode (sslrootcert names an authority of your own), the user, the password (CUSTOMER_MIRROR_MIRROR, PGPASSWORD or ~/.pgpass), other PG variables of the ' +
      'environment, and the rights of that user: CREATE on the database to make the mirror, its tables to write it, USAGE and SELECT to read it.',
    bucket:
      'Check the bucket, AWS_ENDPOINT_URL_S3, AWS_REGION, the clock, and the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ' +
      'a profile or a role). They need s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and s3:GetObject, s3:PutObject, ' +
      's3:DeleteObject and s3:AbortMultipartUpload below the prefix; a proxy on the way has to pass on Host and 8 MiB.',
  },
  damaged: {
    file:
      "It is damaged, or its disk failed while it was read. Check the disk. If 'customer-mirror check' finds damage then, put back a backup, or " +
      'move the file away and sync anew; sqlite3 can save what is readable with .recover.',
    postgres:
      'It is damaged, or the server failed in itself; its log says more. Put back a backup of the database, or name another schema and sync anew.',
  },
  missing: { file: "Check its name; 'customer-mirror sync' makes the mirror of a configuration." },
  foreign: {
    file: 'It is not a mirror of ours, and was left as it is; name another file.',
    contents:
      'Something that someone added to the mirror, or changed there, is in the way: a trigger, an index, a table, a view or a value. The file ' +
      "is sound, and holds nothing of this step. Correct or drop that, then try again; 'customer-mirror check' names what was added.",
    postgres:
      'Something that someone added to the mirror, or changed there, refuses this: a trigger, an index, a constraint, a view or a column. ' +
      'Nothing of this step was kept: correct or drop it, then try again; the log of the server says more.',
  },
  gone: {
    file: 'It ended before it was done. Try again; if that happens again, check the memory of this machine.',
    postgres:
      'Start the server, have it accept writes, or repair the way to it: host, port, network, limits of connections. What was saved before ' +
      'is kept, and the next run continues from there; run any other command again.',
    bucket:
      'It does not answer, or cannot at the moment. Check the endpoint, the region and the network, then try again.',
  },
}

/** The classes of the codes of the system and of SQLite. The first that fits holds. */
const CLASSES: readonly [code: RegExp, fault: Fault][] = [
  [/^(ENOSPC|EDQUOT|EFBIG|EIO)$/, 'full'],
  [/^(EMFILE|ENFILE|EBUSY|ETXTBSY|EAGAIN)$/, 'busy'],
  [/^E[A-Z\d_]+$/, 'denied'],
  [/^SQLITE_(CORRUPT|IOERR_(READ|SHORT_READ|CORRUPTFS))/, 'damaged'],
  [/^SQLITE_(FULL|IOERR)/, 'full'],
  // SQLITE_PROTOCOL: programs that open it at once wait for each other, but not without end.
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'busy'],
  [/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/, 'denied'],
  [/^SQLITE_NOTADB/, 'foreign'],
]

/** What a failed call of the system reports, or SQLite; undefined for any other error. */
export function seenIn(error: unknown): Seen | undefined {
  if (!(error instanceof Error)) return undefined
  const code = isOfSqlite(error) ? String(error.code) : systemCode(error)
  const fault = CLASSES.find(([pattern]) => pattern.test(code ?? ''))?.[1]
  if (code === undefined || fault === undefined) return undefined
  if (isOfSqlite(error)) return { fault, said: `${error.message} (${code})` }
  // `EACCES: permission denied, open '/data/customers.db'` without what is named elsewhere.
  const [, words = 'it failed'] = /^[A-Z\d_]+: ([^,]*)/.exec(error.message) ?? []
  return { fault, said: `${words} (${'syscall' in error ? String(error.syscall) : ''}, ${code})` }
}

/** What to do where no connection was given since all are taken, of which a process takes `most`; empty for what was said of anything else. */
export function connectionsTaken(said: string, most: number): string {
  return NO_CONNECTION.test(said)
    ? `If all its connections are taken, allow more: max_connections there, the limit of the user or of the database, or pool_size of a pooler; each process takes up to ${most}.`
    : ''
}

const NO_CONNECTION =
  /too many (clients|connections)|remaining connection slots|no more connections|query_wait_timeout|timeout exceeded when trying to connect|timeout expired/

/** Whether it is an error of SQLite, whose driver only the mirror and the copies know. */
export function isOfSqlite(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && error.name === 'SqliteError' && 'code' in error
}

/** `kept` says what became of the work. */
type Words = { where?: Where; kept?: string }

/** `place: what was reported (call, code). What became of the work. What to do.` */
export function messageOf(place: string, { fault, said }: Seen, { where = 'file', kept = '' }: Words): string {
  const { [where]: own, file } = SENTENCES[fault]
  return [`${place}: ${said}.`, kept, own ?? file].filter((each) => each !== '').join(' ')
}

/** A fault of the mirror at `place`, which is a file or the address of a server without secrets. */
export function mirrorFault(place: string, seen: Seen, { cause, ...words }: Words & { cause?: unknown } = {}) {
  return new MirrorUnusable(messageOf(place, seen, words), { code: seen.fault }, { cause })
}

export function noMirror(place: string): MirrorUnusable {
  return mirrorFault(place, { fault: 'missing', said: 'there is no mirror yet' })
}

/** The code that the system or a library gave an error, such as ENOENT; undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return undefined
  const { code } = error
  const errno = 'errno' in error && UNNAMED.test(code) ? -Number(error.errno) : undefined
  return Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? code
}

/** The code of a system call that failed; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error ? codeOf(error) : undefined
}

/** Node has no name for some errors of the system, such as a quota that is used up, and gives their number alone. */
const UNNAMED = /^(UNKNOWN|Unknown system error -\d+)$/

/** What a failed TLS connection means, and what to do, by its code; undefined for other codes. EPROTO may be all: then `said` is OpenSSL's. */
export function tlsFailure(code: string, said: string) {
  if (!/^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|EPROTO$)/.test(code))
    return undefined
  const words = /SSL routines:[^:]*:([^:]+)/.exec(said)?.[1] ?? said.split('\n')[0] ?? ''
  return { what: `no trusted TLS connection came about: ${words.replace(/\.$/, '')}`, fix: OF_TLS }
}

const OF_TLS =
  'Check the host, the port, the certificate there and the clock here. An authority that Node.js does not know is named in NODE_EXTRA_CA_CERTS, ' +
  'or trusted as this machine does with NODE_USE_SYSTEM_CA=1; the server has to speak TLS 1.2 or newer, and to ask for no certificate of the client.'
