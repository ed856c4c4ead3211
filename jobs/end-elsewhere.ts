import { setTimeout as sleep } from 'node:timers/promises'
import {
  ContractBroken,
  describeError,
  MirrorUnusable,
  OrganizationHeld,
  QueueUnavailable,
  RateLimited,
  SourceRefused,
  SourceUnavailable,
  UsageError,
  type ContractCode,
  type MirrorCode,
  type UnavailableCode,
} from '../src/errors.ts'
import type { Outcome } from '../src/mirror-organization.ts'
import type { Mirror } from '../src/mirror/mirror.ts'
import { emptyReport, type Report } from '../src/report.ts'

export type Watching = {
  /** Whether the queue still has a job for an organization. */
  hasJob: (organization: string) => Promise<boolean>
  mirror: Pick<Mirror, 'listRuns'>
  /** Whether this very process is running that job: then its end is told, whatever the queue has forgotten. */
  isActiveHere: (organization: string) => boolean
  /** Unix milliseconds. */
  now: () => number
  lookMs?: number
}

/**
 * `lastRunBefore` is the number of the organization's latest run when its job was put into the queue, 0 for none. Times would
 * not do: the clock may be set between a wish and its run.
 */
type Asked = { organization: string; lastRunBefore: number }

const LOOK_MS = 500

/** Comes back when the job was ended by another worker of the same queue, with the run that the mirror then has. */
export async function endElsewhere(
  { hasJob, mirror, isActiveHere, now, lookMs = LOOK_MS }: Watching,
  { organization, lastRunBefore }: Asked,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    await sleep(lookMs, undefined, { signal })
    if (isActiveHere(organization) || (await hasJob(organization))) continue
    const [report] = await mirror.listRuns({ organization, limit: 1 })
    // Taken by this process while the other two were asked.
    if (isActiveHere(organization)) continue
    const hasEnded = report?.status === 'complete' || report?.status === 'failed'
    if (hasEnded && (report.runId ?? 0) > lastRunBefore) return { report, error: errorOf(report) }
    return failedWith(
      organization,
      new QueueUnavailable(
        `${organization}: its job is no longer in the queue, and no run that began since has ended. Ask for it again.`,
      ),
      now(),
    )
  }
}

/** A run that was never made, for this reason. */
export function failedWith(organization: string, error: unknown, nowMs: number): Outcome {
  const report = emptyReport({ organization, trigger: 'sync', startedAtMs: nowMs })
  return { report: { ...report, error: describeError(error) }, error }
}

/** The error of a run made elsewhere, of the kind that the command ends as it would have ended itself. */
function errorOf({ status, error }: Report): unknown {
  if (error === undefined) return status === 'complete' ? undefined : new Error('The run failed, and did not say why.')
  const { code, message } = error
  const refusal = REFUSALS.find((known) => known.code === code)
  if (refusal !== undefined) return new SourceRefused(message, refusal)
  const outage = OUTAGES.find((known) => known === code)
  if (outage !== undefined) return new SourceUnavailable(message, { code: outage })
  const breach = BREACHES.find((known) => known === code)
  if (breach !== undefined) return new ContractBroken(message, { code: breach })
  if (code === 'rate-limited') return new RateLimited(message, {})
  if (code === 'held' || code === 'lease-lost') return new OrganizationHeld(message, { code })
  const fault = MIRROR_FAULTS.find((known) => `mirror-${known}` === code)
  if (fault !== undefined) return new MirrorUnusable(message, { code: fault })
  return code === 'config' || code === 'usage' ? new UsageError(message) : new Error(message)
}

const REFUSALS = [
  { code: 'unauthorized', status: 401 },
  { code: 'forbidden', status: 403 },
  { code: 'not-found', status: 404 },
  { code: 'unprocessable', status: 422 },
] as const

/** All codes of a kind: one that is added to the kind has to be added here. */
const OUTAGES = keysOf<UnavailableCode>({ network: 0, tls: 0, timeout: 0, 'server-error': 0 })
const BREACHES = keysOf<ContractCode>({
  ...{ redirect: 0, 'not-json': 0, 'not-utf8': 0, 'too-large': 0, 'bad-encoding': 0, envelope: 0 },
  ...{ 'page-mismatch': 0, 'size-mismatch': 0, 'repeated-page': 0, status: 0, 'tenant-mixup': 0 },
  ...{ 'cached-answer': 0 },
})
const MIRROR_FAULTS = keysOf<MirrorCode>({
  ...{ directory: 0, unreadable: 0, 'read-only': 0, newer: 0, corrupt: 0, foreign: 0, full: 0, missing: 0, locked: 0 },
  replaced: 0,
})

function keysOf<Code extends string>(codes: Readonly<Record<Code, 0>>): Code[] {
  const keys: Code[] = []
  for (const code in codes) keys.push(code)
  return keys
}
