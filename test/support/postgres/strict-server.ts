import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { oneStatement, startPostgres, type PostgresServer } from '../../../bench/postgres-server.ts'
import { PLAIN_USER } from '../plain-user-setup.ts'

/** A server with TLS, whose certificate is for `localhost`, and which lets users in by rules of its own. */
export type StrictServer = PostgresServer & {
  /** The files of the authority that signed its certificate, and of another one. */
  authority: string
  otherAuthority: string
  /** Runs statements in a database as its owner. */
  run(database: string, sql: string): Promise<void>
}

/** Into the database `with_tls` no connection without TLS, and as `asked` none without the password. */
const RULES = `
hostssl   with_tls all   all trust
hostnossl with_tls all   all reject
host      all      asked all scram-sha-256
host      replication all all trust
host      all      all   all trust
`

/** Starts it, which needs openssl. */
export async function startStrictServer(): Promise<StrictServer> {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-tls-'))
  chmodSync(folder, 0o755)
  const [authority, otherAuthority] = [anAuthority(folder, 'ours'), anAuthority(folder, 'other')]
  const { certificate, key } = signed(folder, authority)
  const rules = join(folder, 'pg_hba.conf')
  writeFileSync(rules, RULES)
  const server = await startPostgres({ isDurable: false })
  const run = (database: string, sql: string) =>
    oneStatement(Object.assign(new URL(server.url), { pathname: `/${database}` }).href, sql)
  const settings = { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key, hba_file: rules }
  for (const [name, value] of Object.entries(settings)) await run('postgres', `ALTER SYSTEM SET ${name} = '${value}'`)
  await server.kill()
  await server.start()
  return {
    ...server,
    authority: authority.certificate,
    otherAuthority: otherAuthority.certificate,
    run,
    close: async () => {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Pair = { certificate: string; key: string }

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

function anAuthority(folder: string, name: string): Pair {
  const [key, certificate] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  openssl('req', '-x509', ...KEY, '-keyout', key, '-out', certificate, '-subj', `/CN=${name}`)
  return { certificate, key }
}

function signed(folder: string, authority: Pair): Pair {
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.pem')]
  const [asked, names] = [join(folder, 'server.csr'), join(folder, 'names')]
  writeFileSync(names, 'subjectAltName=DNS:localhost')
  openssl('req', ...KEY, '-keyout', key, '-out', asked, '-subj', '/CN=localhost')
  const by = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial']
  openssl('x509', '-req', '-in', asked, ...by, '-extfile', names, '-out', certificate)
  chmodSync(key, 0o600)
  if (getuid?.() === 0) chownSync(key, PLAIN_USER, PLAIN_USER)
  return { certificate, key }
}

function openssl(...args: string[]): void {
  const { status, stderr, error } = spawnSync('openssl', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl failed: ${error?.message ?? stderr}`)
}
