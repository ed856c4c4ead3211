import { stat } from 'node:fs/promises'
import { shownMirror } from '../../address/mirror-address.ts'
import type { Stored } from './check-mirror.ts'
import { find, type Finding, type Found, warning } from './finding.ts'
import { configOption, count, duration, moment, shellWord } from '../output/say.ts'
import { readPrivacy } from '../../config/credentials.ts'
import type { Organization } from '../../config/organization.ts'
import type { Config } from '../../config/read-config.ts'
import { ConfigError, factsOf } from '../../errors/errors.ts'
import { codeOf } from '../../errors/faults.ts'
import { monotonicMs, sleep } from '../../machine/timers.ts'
import { isOtherKey, isSamePolicy, type PrivacyPolicy } from '../../privacy/privacy-policy.ts'
import { sizeAfterRefusal } from '../../scan/window.ts'
import type { CustomersPage, Source } from '../../source/customers.ts'
import { openConfiguredSource } from '../../sync/run-organization.ts'

type Known = {
  /** Undefined where that is not known. */
  stored: Stored | undefined
  config: Config
  /** The configuration file as the user named it. */
  named: string | undefined
  signal: AbortSignal
}

/** What one organization needs: its secrets, its privacy, its schedule, and the answer of its service. */
export async function* checkOrganization(organization: Organization, known: Known): AsyncGenerator<Finding> {
  yield* exposedSecrets(organization)
  yield* checkPrivacy(organization, known)
  yield* checkSchedule(organization, known.config.file)
  yield await checkAnswer(organization, known.signal)
}

/** The permissions of users who neither own a file nor belong to its group. The group may read: Kubernetes mounts secrets so. */
const EVERY_USER = process.platform === 'win32' ? 0 : 0o007

/** The files of keys and secrets that every user of this machine may open. Missing files are reported where they are read. */
async function* exposedSecrets({ id, apiKey, secret, privacy }: Organization): AsyncGenerator<Finding> {
  for (const [what, reference] of Object.entries({ 'API key': apiKey, secret, 'privacy key': privacy?.key })) {
    if (reference === undefined || !('file' in reference)) continue
    const { file } = reference
    const stats = await stat(file).catch(() => undefined)
    if (stats === undefined || !stats.isFile() || (stats.mode & EVERY_USER) === 0) continue
    const mode = (stats.mode & 0o777).toString(8).padStart(3, '0')
    const path = shellWord(file)
    const isOwn = [0, stats.uid].includes(process.getuid?.() ?? 0)
    yield {
      what: `${what} of ${id}`,
      ...warning(
        `every user of this machine has access to ${file} (its mode is ${mode})`,
        isOwn ? `chmod 600 ${path}` : `sudo chown "$(id -un)" ${path}; sudo chmod 600 ${path}`,
      ),
    }
  }
}

/** What is hidden, whether its key can be read, and whether what is stored in the mirror follows it. */
async function* checkPrivacy(
  organization: Organization,
  { stored, config, named, signal }: Known,
): AsyncGenerator<Finding> {
  const what = `privacy of ${organization.id}`
  const { drop = [], hash = [] } = organization.privacy ?? {}
  const hidden = Object.entries({ drops: drop, hashes: hash }).filter(([, fields]) => fields.length > 0)
  let policy: PrivacyPolicy | undefined
  const read = await find(what, async () => {
    policy = await readPrivacy(organization, { now: Date.now, sleep, signal })
    return { said: hidden.map(([does, fields]) => `${does} ${fields.join(', ')}`).join('; ') }
  })
  if (organization.privacy !== undefined || read.error !== undefined) yield read
  if (policy === undefined || stored === undefined) return
  const sync = `customer-mirror sync ${organization.id}${configOption(named)}`
  const found = notFollowed(policy, stored, { mirror: shownMirror(config.mirror), sync })
  if (found !== undefined) yield { what, ...found }
}

function notFollowed(
  policy: PrivacyPolicy,
  stored: Stored,
  { mirror, sync }: { mirror: string; sync: string },
): Found | undefined {
  if (isOtherKey(stored.policy, policy))
    return warning(
      'the key is not the one of the stored hashes: the next run replaces them, and those of removed customers are lost',
      'put the former key back, unless it is meant to change',
    )
  if (stored.left === 'values' || !isSamePolicy(stored.policy, policy))
    return warning('the stored values do not follow the policy yet', sync)
  if (stored.left !== 'free space') return undefined
  return warning(
    `values from before the policy may still stand in free space of ${mirror}`,
    `close the programs that read it, free some space, then ${sync}`,
  )
}

/** Whether a worker would take the schedule; then when there are quick runs, and what each may cost. */
async function* checkSchedule(organization: Organization, file: string): AsyncGenerator<Finding> {
  const { id, schedule } = organization
  if (schedule === undefined) return
  const { scheduleMistakes, quickOutlook } = await import('../../../jobs/schedule/due-times.ts')
  const nowMs = Date.now()
  const mistakes = scheduleMistakes({ organizations: [organization], file }, nowMs)
  if (mistakes.length > 0) {
    const said = mistakes.map(({ message }) => message).join('\n')
    const fix = 'Change that line of the schedule.'
    yield { what: `schedule of ${id}`, said, error: new ConfigError(mistakes), fix }
    return
  }
  const outlook = quickOutlook(id, schedule, nowMs)
  if (outlook === undefined) return
  const { inADay, nextMs, isAlwaysAtNight } = outlook
  const found = isAlwaysAtNight
    ? warning(
        `at each of their moments ("${schedule.quick}") the whole list is read anyway, so none is made`,
        'Name moments between the runs of cron, or remove quick.',
      )
    : { said: `${count(inADay, 'run')} in the next 24 hours, the next at ${moment(nextMs)}, ${QUICK_LIMIT}` }
  yield { what: `quick runs of ${id}`, ...found }
}

const QUICK_LIMIT = 'each with at most a twelfth of the requests of a full scan, or 40 if that is more'

/** Asks for the first page as a run does, without waiting. */
async function checkAnswer(organization: Organization, signal: AbortSignal): Promise<Finding> {
  const what = organization.id
  const found = await find(what, async () => {
    const clocks = { now: Date.now, monotonicMs, random: Math.random }
    const source = await openConfiguredSource(organization, { rateLimits: new Map(), longestWaitMs: 0, ...clocks })
    try {
      return answered(await firstPage(source, organization.pageSize, signal), source)
    } finally {
      source.close()
    }
  })
  if (found.error === undefined) return { ...found, decides: true }
  if (signal.aborted) return { what, said: 'stopped before it answered' }
  const { title, fix } = factsOf(found.error)
  return { ...found, said: `${title}. ${found.said}`, fix: fix.replaceAll('<organization>', what) }
}

type FirstPage = CustomersPage & { refusedSize?: number }

/** The first page; in the size that a run tries next, where the service refuses that of the configuration. */
async function firstPage(source: Source, size: number, signal: AbortSignal): Promise<FirstPage> {
  try {
    return await source.readPage({ page: 1, size }, { signal })
  } catch (error) {
    const smaller = codeOf(error) === 'unprocessable' ? sizeAfterRefusal(size) : undefined
    if (smaller === undefined) throw error
    return { ...(await source.readPage({ page: 1, size: smaller }, { signal })), refusedSize: size }
  }
}

function answered(page: FirstPage, { clockOffsetMs, clockCorrectionMs }: Source): Found {
  const { total, size, askedSize, refusedSize } = page
  const received = page.records().length
  const isLeftEmpty = received === 0 && (total ?? 0) > 0
  const customers = total === undefined ? `${received} on the first page` : count(total, 'customer')
  const left = isLeftEmpty ? ' by its total, and none on the first page' : ''
  const refused = refusedSize === undefined ? '' : `; it refuses pages of ${refusedSize} and serves ${askedSize}`
  const capped = size < askedSize ? `; the service caps pages at ${size}` : ''
  const signed = clockCorrectionMs === 0 ? '' : ', and requests are signed with its time'
  const said = `answered, ${customers}${left}${refused}${capped}, ${clockWords(clockOffsetMs)}${signed}`
  if (isLeftEmpty) return warning(said, EMPTY_FIX)
  return clockCorrectionMs === 0 ? { said } : warning(said, CLOCK_FIX)
}

const EMPTY_FIX = 'Ask the owner of the service why its list is empty, and look for a cache or a proxy in between.'
const CLOCK_FIX =
  'Set the clock of this machine (timedatectl set-ntp true). If it is right, report it to the owner of the service.'

function clockWords(offsetMs: number | undefined): string {
  if (offsetMs === undefined) return 'clock unknown'
  if (Math.abs(offsetMs) < 2000) return 'clocks agree'
  return `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} ours`
}
