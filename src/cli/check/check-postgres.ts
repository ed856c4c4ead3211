import { MirrorUnusable } from '../../errors/errors.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { examineServer, openMirrorIfThere } from '../../store/mirror.ts'
import { parsePostgresAddress } from '../../address/postgres-address.ts'
import { additionsFinding, failedCheck, requireSound, soundFinding, type Finding } from './finding.ts'

type Examined = Awaited<ReturnType<typeof examineServer>>

/** Asks the server of the mirror what it is, and reads the mirror if there is one. Nothing is made. */
export async function checkPostgres(address: string): Promise<Finding> {
  const what = 'mirror'
  const shown = shownMirror(address)
  try {
    const examined = await examineServer(address)
    const wrongColumn = errorOfColumn(shown, examined)
    if (wrongColumn !== undefined) return { ...failedCheck(what, wrongColumn), fix: FIX, isUnreadable: true }
    const mirror = await openMirrorIfThere(address)
    try {
      requireWritable(shown, examined)
      requireSound(shown, (await mirror?.findDamage()) ?? [])
      const state =
        mirror === undefined ? `the schema ${examined.schema} will be made by the first sync` : soundWords(examined)
      const said = `${shown}, ${serverWords(address, examined)}, ${state}`
      return soundFinding(said, [additionsFinding(examined.tables?.added ?? [])])
    } finally {
      await mirror?.close()
    }
  } catch (error) {
    return { ...failedCheck(what, error), fix: FIX }
  }
}

const FIX = 'Do what is said above, or name another mirror in the configuration.'

/** To be asked before the mirror is read, which takes its columns for granted. */
function errorOfColumn(shown: string, { tables }: Examined): MirrorUnusable | undefined {
  if (tables?.unfilled != null) {
    return new MirrorUnusable(
      `${shown}: the column ${tables.unfilled}, which someone added, has no default. Give it one, or let it be null.`,
      { code: 'foreign' },
    )
  }
  return undefined
}

function requireWritable(shown: string, { isReadOnly, mayWrite, schema, version, tables }: Examined): void {
  if (isReadOnly) throw new MirrorUnusable(`${shown}: ${READ_ONLY}`, { code: 'denied' })
  if (mayWrite) return
  const where = tables?.unwritable == null ? '' : `: it lacks rights to the table ${tables.unwritable}`
  const fix = version === undefined ? TO_MAKE : TO_WRITE
  throw new MirrorUnusable(`${shown}: this user may not write the schema ${schema}${where}. ${fix}`, {
    code: 'denied',
  })
}

const TO_MAKE = 'Let it own the schema, or GRANT it CREATE on the database.'
const TO_WRITE = 'Name the user who owns it in the address, or have this one own it.'
const READ_ONLY =
  'the server takes no writes: it is a standby, or read-only by its settings. Name the primary server as mirror, or make this one writable.'

function serverWords(address: string, { server, isEncrypted, isPooled }: Examined): string {
  return `PostgreSQL ${server}, ${tlsWords(address, isEncrypted)}${isPooled ? ', through a pooler' : ''}`
}

function tlsWords(address: string, isEncrypted: boolean): string {
  if (!isEncrypted) return 'no TLS'
  const parsed = parsePostgresAddress(address)
  const tls = 'address' in parsed ? parsed.address.tls : undefined
  if (tls?.mode === 'verify-full') return 'TLS'
  return tls?.rootCertificate === undefined
    ? 'TLS with a certificate that is not checked (sslmode=verify-full does)'
    : 'TLS with a certificate whose name is not checked (sslmode=verify-full does)'
}

function soundWords({ schema, version, mayVacuum }: Examined): string {
  const sound = `schema ${schema} version ${version ?? '?'}, sound and writable`
  return mayVacuum
    ? sound
    : `${sound}; this user does not own its tables, and only their owner can finish forget (VACUUM)`
}
