import { chooseOrganizations } from '../config/organization.ts'
import { readConfig } from '../config/read-config.ts'
import { isOurs } from '../errors.ts'
import { createLog } from '../log.ts'
import type { Outcome } from '../mirror-organization.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import { openMirror, rehearseMirror } from '../mirror/mirror.ts'
import { runOrganization } from '../run-organization.ts'
import { IdleAgents } from '../source/idle-agents.ts'
import type { Io } from './io.ts'
import { showProgress } from './progress.ts'

export type SyncOptions = {
  config?: string | undefined
  dryRun?: true | undefined
  limitPages?: number | undefined
  logLevel?: string | undefined
}

/** Mirrors the organizations named, or all, side by side, and tells what became of each, in their order. */
export async function syncOrganizations(
  ids: readonly string[],
  { config: file, dryRun, limitPages, logLevel }: SyncOptions,
  { signal, stderr }: Pick<Io, 'signal' | 'stderr'>,
): Promise<{ outcomes: Outcome[]; mirrorFile: string }> {
  const config = await readConfig({ file, cwd: process.cwd() })
  const organizations = chooseOrganizations(config, ids)
  const log = createLog({ level: logLevel ?? 'silent', stream: stderr })
  const mirror = dryRun
    ? await rehearseMirror(
        config.mirror,
        organizations.map(({ id }) => id),
      )
    : await openMirror(config.mirror)
  const paces = new Map()
  const agents = new IdleAgents()
  try {
    const outcomes = await showProgress(organizations, stderr, async (organization, talk) => {
      const outcome = await runOrganization(organization, {
        mirror,
        paces,
        agents,
        trigger: 'sync',
        pageLimit: limitPages,
        longestWaitMs: organization.maxWaitMs,
        now: Date.now,
        monotonicMs,
        random: Math.random,
        signal,
        ...talk,
      })
      logOutcome(log, outcome)
      return outcome
    })
    return { outcomes, mirrorFile: config.mirror }
  } finally {
    await agents.close()
    await mirror.close()
  }
}

function logOutcome(log: ReturnType<typeof createLog>, { report, error }: Outcome): void {
  if (error === undefined) log.info({ report }, 'run complete')
  else if (isOurs(error)) log.error({ report }, `run ${report.status}`)
  else log.error({ report, err: error }, 'run failed unexpectedly')
}
