import { hash } from 'node:crypto'
import { cancellations } from '../cancel.ts'
import { readPauses } from '../pauses.ts'
import type { SharedValues } from '../queue/port.ts'
import { jobStateOf, type Queues } from '../queue/queues.ts'
import { GRACE_MS, isLate, wasReadSince } from '../schedule/due-runs.ts'
import { nextAfter, type Schedule, startDelayMs } from '../schedule/due-times.ts'
import type { Organization } from '../../src/config/organization.ts'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { pauseOf } from '../../src/model/pause.ts'
import { type Report, toJson } from '../../src/model/report.ts'
import { count, moment } from '../../src/text/wording.ts'
import { isoTime } from '../../src/time/moments.ts'

/** The organizations that are due by the same cron line in the same time zone, under a name for their jobs. */
export function rotasOf(organizations: readonly { id: string; schedule: Schedule | undefined }[]) {
  const scheduled = organizations.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [{ id, schedule }]))
  const byLine = Map.groupBy(scheduled, ({ schedule: { cron, timezone } }) => `${cron}\n${timezone}`)
  return [...byLine].map(([line, members]) => {
    const [cron = '', timezone = ''] = line.split('\n')
    return { name: hash('sha256', line).slice(0, 12), cron, timezone, organizations: members }
  })
}

type Rota = ReturnType<typeof rotasOf>[number]

/** One due time of a rota, with the moment at which each organization is due, its spread included. */
type Night = ReturnType<typeof nightAt>

/** It ends two hours after the last organization is due, or a worker first saw it, or when the next night begins. */
export function nightAt({ cron, timezone, organizations }: Rota, dueMs: number, seenMs: number) {
  const due = organizations.map(({ id, schedule }) => ({ id, dueMs: dueMs + startDelayMs(id, schedule) }))
  const spreadMs = Math.max(0, ...due.map((each) => each.dueMs - dueMs))
  const lastMs = spreadMs + Math.min(nextAfter({ cron, timezone }, dueMs), Math.max(dueMs, seenMs) + GRACE_MS)
  return { cron, timezone, dueMs, organizations: due, lastMs }
}

export type Sources = {
  mirror: Pick<Mirror, 'listLastRuns' | 'listLatestRuns' | 'listHeldRemovals' | 'findRun'>
  queues: Pick<Queues, 'sync'>
  backend: { values: Pick<SharedValues, 'list'> }
  now: () => number
}

/** How an organization stands in a night, with the moment at which it was due. `pending`: its run is still to come, or to end. */
export type InNight = { organization: string; dueMs: number; ended: 'complete' | 'failed' | 'pending' }

/** How every organization of a night stands. One that is paused until the night is over gets no run from a job that waits. */
export async function standingsOf(
  { organizations, lastMs }: Night,
  { mirror, queues, backend: { values }, now }: Sources,
): Promise<InNight[]> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const [cancelled, pauses] = [await cancellations.list(values), await readPauses(values)]
  return Promise.all(
    organizations.map(async ({ id, dueMs }) => {
      const lastRun = lastRuns.get(id)
      if (wasReadSince(dueMs, lastRun, now())) return { organization: id, dueMs, ended: 'complete' }
      const paused = pauseOf(pauses, id, now())
      const isPaused = paused !== undefined && (paused.untilMs ?? Infinity) >= lastMs
      const isCalledOff = isPaused || (cancelled.get(id)?.untilMs ?? 0) >= dueMs
      const hasFailed = lastRun?.status === 'failed' && lastRun.startedAtMs >= dueMs
      const state = await jobStateOf(queues.sync, id)
      // While it has a job, a failed run is tried again.
      const hasJob = state !== undefined && !(isPaused && state === 'delayed')
      return { organization: id, dueMs, ended: (hasFailed || isCalledOff) && !hasJob ? 'failed' : 'pending' }
    }),
  )
}

/** How an organization ended in a night, the run that says so, and how many of its removals wait for a decision. */
export type Ended = Pick<InNight, 'organization' | 'ended'> & { run: Report | undefined; heldRemovals: number }

/** Looks up the runs that say how organizations ended in a night, and their removals. */
export async function lookUpRuns(standings: readonly InNight[], { mirror }: Sources): Promise<Ended[]> {
  const ids = standings.map(({ organization }) => organization)
  const latest = Map.groupBy(await mirror.listLatestRuns({ organizations: ids, limit: 5 }), idOf)
  const held = Map.groupBy(await mirror.listHeldRemovals(), idOf)
  const found: Ended[] = []
  for (const { organization, dueMs, ended } of standings) {
    const meant = latest
      .get(organization)
      ?.findLast(({ status, startedAtMs }) => (ended === 'complete' ? status === 'complete' : startedAtMs >= dueMs))
    const heldRemovals = (held.get(organization) ?? []).reduce((sum, each) => sum + each.held, 0)
    found.push({ organization, ended, run: meant && (await mirror.findRun(meant.runId)), heldRemovals })
  }
  return found
}

function idOf({ organization }: { organization: string }): string {
  return organization
}

/** Whether an organization of any night failed when it was last read, or is late. */
export async function isAnyBehind(
  organizations: readonly Pick<Organization, 'id' | 'schedule' | 'seenAtMs'>[],
  { mirror, now }: Pick<Sources, 'mirror' | 'now'>,
): Promise<boolean> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  return organizations.some((organization) => {
    const lastRun = lastRuns.get(organization.id)
    const hasFailed = organization.schedule !== undefined && lastRun?.status === 'failed'
    return hasFailed || isLate(organization, lastRun, now())
  })
}

/** Whether every organization was read to its end, its data has the fields that it had, and none waits for a person to decide. */
export function wentWell(organizations: readonly Pick<Ended, 'ended' | 'run' | 'heldRemovals'>[]): boolean {
  return organizations.every(
    ({ ended, run, heldRemovals }) =>
      ended === 'complete' && run?.reasons.includes('shape-changed') !== true && heldRemovals === 0,
  )
}

/** The report of a night: ids, counts, codes and times. Its keys are a contract: later versions only add some. */
export function reportNight({ cron, timezone, dueMs }: Night, organizations: readonly Ended[], nowMs: number): object {
  const outcomes = organizations.map(outcomeOf)
  const having = (outcome: ReturnType<typeof outcomeOf>) => outcomes.filter((one) => one === outcome).length
  const sum = (name: (typeof SUMS)[number]) => organizations.reduce((total, { run }) => total + (run?.[name] ?? 0), 0)
  return {
    type: 'night.ended',
    timestamp: isoTime(nowMs),
    data: {
      version: 1,
      dueAt: isoTime(dueMs),
      ...{ cron, timezone },
      wentWell: wentWell(organizations),
      totals: {
        ...{ organizations: organizations.length, complete: having('complete'), failed: having('failed') },
        ...{ unfinished: having('unfinished'), notStarted: having('not-started') },
        ...Object.fromEntries(SUMS.map((name) => [name, sum(name)])),
      },
      organizations: organizations.map(({ organization, heldRemovals, run }, index) => ({
        ...{ organization, outcome: outcomes[index], heldRemovals },
        run: run === undefined ? null : runOf(run),
      })),
    },
  }
}

const SUMS = ['inserted', 'updated', 'removed', 'returned', 'rejected'] as const

function outcomeOf({ ended, run }: Ended) {
  if (ended !== 'complete' && run === undefined) return 'not-started'
  return ended === 'pending' ? 'unfinished' : ended
}

/** As `sync --json` prints it, with the title of an error: a message may quote what the service answered. */
function runOf(run: Report): object {
  const { pruned: _pruned, ...json } = { pruned: undefined, ...toJson(run) }
  const { code } = run.error ?? {}
  return { ...json, error: code === undefined ? null : { code, title: factsOfCode(code).title } }
}

/** A night as a message of a chat: who needs a person first, a sentence for each organization with the command to run. */
export function nightText({ dueMs }: Pick<Night, 'dueMs'>, organizations: readonly Ended[]): string {
  const isWell = (each: Ended) => wentWell([each])
  const [well, others] = [organizations.filter(isWell), organizations.filter((each) => !isWell(each))]
  const head =
    others.length === 0
      ? `went well for ${count(well.length, 'organization')}`
      : `${others.length} of ${count(organizations.length, 'organization')} did not go well`
  return [`Customer Mirror, night of ${moment(dueMs)}: ${head}.`, ...[...others, ...well].map(sentenceOf)].join('\n')
}

function sentenceOf({ organization, ended, run, heldRemovals }: Ended): string {
  const details = run === undefined ? '' : ` To see more: \`customer-mirror runs show ${run.runId ?? ''}\``
  if (heldRemovals > 0) {
    const held = `${count(heldRemovals, 'removal')} ${heldRemovals === 1 ? 'waits' : 'wait'} for a decision`
    return `• ${organization}: ${held}. Who they are: \`customer-mirror removals show ${organization}\``
  }
  if (run?.reasons.includes('shape-changed') === true)
    return `• ${organization}: fields of many customers have changed, and what is stored is kept.${details}`
  if (ended === 'complete' && run !== undefined)
    return `• ${organization}: complete and ${run.proof}: ${run.inserted} new, ${run.updated} changed, ${run.removed} removed.`
  if (run?.error !== undefined)
    return `• ${organization}: failed: ${factsOfCode(run.error.code).title} (${run.error.code}).${details}`
  return `• ${organization}: ${ended === 'complete' ? 'complete' : 'was not read to its end'}.${details || ' To see why: `customer-mirror status`'}`
}
