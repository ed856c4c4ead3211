import { existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isPostgres, shownMirror } from '../../address/mirror-address.ts'
import { parsePostgresAddress } from '../../address/postgres-address.ts'
import { isOurs, MirrorUnusable } from '../../errors/errors.ts'
import { mirrorFault, seenIn } from '../../errors/faults.ts'
import { nearestFolder } from '../../machine/folders.ts'
import type { Mirror, StoredPrivacy } from '../../model/mirror.ts'
import { NOTHING_HIDDEN } from '../../privacy/privacy-policy.ts'
import { examineServer, findAdditions, openMirrorIfThere } from '../../store/mirror.ts'
import { closing } from '../command.ts'
import { find, warning, type Finding, type Found } from './finding.ts'

/** Opens the mirror and has all of it read. If there is none yet, checks that one can be made. Nothing is made. */
export function checkMirror(address: string): Promise<Finding> {
  return find('mirror', () => (isPostgres(address) ? onServer(address) : inFile(address)))
}

async function inFile(file: string): Promise<Found> {
  try {
    const opened = await openMirrorIfThere(file)
    if (opened === undefined) {
      if (existsSync(file)) await access(file, constants.W_OK)
      // Rights alone do not show whether anything can be made in a folder: in /proc, nothing can.
      else rmdirSync(mkdtempSync(join(nearestFolder(dirname(file)), '.customer-mirror-check-')))
      return { said: `${file} will be created by the first sync` }
    }
    return await closing(opened, async (mirror) => {
      requireSound(file, await mirror.findDamage())
      const added = additions(await findAdditions(file))
      await access(file, constants.W_OK)
      return withWarnings(`${file}, sound and writable`, [...exposed(file), ...added])
    })
  } catch (error) {
    const seen = seenIn(error)
    throw seen === undefined ? error : mirrorFault(file, seen, { cause: error })
  }
}

function requireSound(mirror: string, damages: readonly string[]): void {
  if (damages.length > 0)
    throw new MirrorUnusable(`${mirror}: is damaged: ${damages.slice(0, 3).join('; ')}`, { code: 'damaged' })
}

function withWarnings(said: string, warnings: readonly Found[]): Found {
  if (warnings.length === 0) return { said }
  return warning(
    [said, ...warnings.map((each) => each.said)].join('; '),
    warnings.flatMap(({ fix }) => fix ?? []).join(' '),
  )
}

/** What someone added to a mirror. */
function additions(added: readonly string[]): Found[] {
  if (added.length === 0) return []
  const named = `${added.slice(0, 5).join(', ')}${added.length > 5 ? ', …' : ''}`
  return [
    warning(
      `someone added or changed there what may refuse a run: ${named}`,
      'Drop what nothing needs; a run that it refuses ends as foreign, and names it.',
    ),
  ]
}

/** The permissions of users who neither own a file nor belong to its group. */
const EVERY_USER = 0o007
const ENTER = 0o001

/** Whether every user of this machine may open the file. */
function exposed(file: string): Found[] {
  const [folder, { mode }] = [statSync(dirname(file)), statSync(file)]
  if ((folder.mode & ENTER) === 0 || (mode & EVERY_USER) === 0 || process.platform === 'win32') return []
  return [
    warning(
      `every user of this machine has access to it (its mode is ${(mode & 0o777).toString(8)})`,
      'The next run makes it private. Where its file system keeps no modes (FAT, exFAT, NTFS), mount that with umask=077, or keep the mirror elsewhere.',
    ),
  ]
}

type Examined = Awaited<ReturnType<typeof examineServer>>

async function onServer(address: string): Promise<Found> {
  const shown = shownMirror(address)
  const examined = await examineServer(address)
  requireColumns(shown, examined)
  const opened = await openMirrorIfThere(address)
  const judge = async (mirror?: Mirror) => {
    requireWritable(shown, examined)
    requireSound(shown, (await mirror?.findDamage()) ?? [])
  }
  await (opened === undefined ? judge() : closing(opened, judge))
  const state =
    opened === undefined ? `the schema ${examined.schema} will be made by the first sync` : soundWords(examined)
  return withWarnings(`${shown}, ${serverWords(address, examined)}, ${state}`, additions(examined.tables?.added ?? []))
}

/** To be asked before the mirror is read, which takes its columns for granted. */
function requireColumns(shown: string, { tables }: Examined): void {
  if (tables?.unfilled == null) return
  throw new MirrorUnusable(
    `${shown}: the column ${tables.unfilled}, which someone added, has no default. Give it one, or let it be null.`,
    { code: 'foreign' },
  )
}

function requireWritable(shown: string, { isReadOnly, mayWrite, schema, version, tables }: Examined): void {
  if (isReadOnly) throw new MirrorUnusable(`${shown}: ${READ_ONLY}`, { code: 'denied' })
  if (mayWrite) return
  const where = tables?.unwritable == null ? '' : `: it lacks rights to the table ${tables.unwritable}`
  const fix =
    version === undefined
      ? 'Let it own the schema, or GRANT it CREATE on the database.'
      : 'Name the user who owns it in the address, or have this one own it.'
  throw new MirrorUnusable(`${shown}: this user may not write the schema ${schema}${where}. ${fix}`, { code: 'denied' })
}

const READ_ONLY =
  'the server takes no writes: it is a standby, or read-only by its settings. Name the primary server as mirror, or make this one writable.'

function serverWords(address: string, { server, isEncrypted, isPooled }: Examined): string {
  return `PostgreSQL ${server}, ${isEncrypted ? tlsWords(address) : 'no TLS'}${isPooled ? ', through a pooler' : ''}`
}

function tlsWords(address: string): string {
  const parsed = parsePostgresAddress(address)
  const tls = 'address' in parsed ? parsed.address.tls : undefined
  if (tls?.mode === 'verify-full') return 'TLS'
  const unchecked = tls?.rootCertificate === undefined ? 'that' : 'whose name'
  return `TLS with a certificate ${unchecked} is not checked (sslmode=verify-full does)`
}

function soundWords({ schema, version, mayVacuum }: Examined): string {
  const rights = mayVacuum ? '' : '; this user does not own its tables, and only their owner can finish forget (VACUUM)'
  return `schema ${schema} version ${version ?? '?'}, sound and writable${rights}`
}

/** How an organization is stored: its policy when it was last run, and what is left of values from before it. */
export type Stored = Omit<StoredPrivacy, 'organization'>

/** How each organization is stored that was ever read; none where the mirror cannot be read, which is a finding of its own. */
export async function readStoredPrivacy(address: string): Promise<ReadonlyMap<string, Stored>> {
  try {
    const opened = await openMirrorIfThere(address)
    if (opened === undefined) return new Map()
    return await closing(opened, async (mirror) => {
      const stored = new Map((await mirror.listPrivacy()).map((each) => [each.organization, each]))
      const runs = await mirror.listLastRuns()
      return new Map(runs.map(({ organization }) => [organization, stored.get(organization) ?? AS_SENT]))
    })
  } catch (error) {
    if (isOurs(error)) return new Map()
    throw error
  }
}

/** For an organization that never had a policy. */
const AS_SENT: Stored = { policy: NOTHING_HIDDEN, left: 'nothing' }
