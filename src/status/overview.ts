import type { Pause } from '../model/pause.ts'
import type { Freshness, UncountedFreshness } from '../model/mirror.ts'
import type { LatestRun } from '../model/report.ts'
import type { Mirror } from '../store/mirror.ts'
import { type Known, progressOf, standingOf, type Due, type Standing, type Underway, type Wait } from './standing.ts'

export type OrganizationView = Known & { organization: string; standing: Standing }

/** What is said of a configured organization beside what the mirror holds. */
export type Configured = {
  id: string
  dueOf: (freshness: Pick<Freshness, 'readAsOfMs' | 'firstRunAtMs'> | undefined) => Due | undefined
  /** Undefined also where the queue, which keeps the pauses, could not be asked. */
  paused?: Pause | undefined
  wait?: Wait | undefined
}

/** What the overview is made from, beside the mirror. */
export type OverviewFacts = { organizations: readonly Configured[]; nowMs: number; monotonicMs: number | undefined }

export const DRAWN_RUNS = 30
/** How many of its runs say how it stands: one may be under way. */
const LEAST_RUNS = 2

type Runs = Pick<Mirror, 'listHeldRemovals' | 'listUnderway' | 'listLatestRuns'>
type Readable = Runs & Pick<Mirror, 'listFreshness'>

/** How each organization stands: what the overview shows, without counts of customers and without the runs that it draws. */
export async function readStandings(mirror: Runs & Pick<Mirror, 'listUncountedFreshness'>, facts: OverviewFacts) {
  return readViews(mirror, mirror.listUncountedFreshness(), facts, LEAST_RUNS)
}

export type Overview = Awaited<ReturnType<typeof readOverview>>

export async function readOverview(mirror: Readable, facts: OverviewFacts, limit = DRAWN_RUNS) {
  const listing = mirror.listFreshness()
  const views = await readViews(mirror, listing, facts, limit)
  const configured = new Set(views.map(({ organization }) => organization))
  return {
    nowMs: facts.nowMs,
    // The gravest first, and within a grade in the order of their ids.
    organizations: views.toSorted(
      (one, other) => one.standing.urgency - other.standing.urgency || (one.organization < other.organization ? -1 : 1),
    ),
    /** How many of all organizations there are of each urgency. */
    totals: [0, 1, 2].map((urgency) => views.filter(({ standing }) => standing.urgency === urgency).length),
    /** Organizations that are in the mirror, with active customers, but are not configured. */
    leftBehind: (await listing).filter(({ organization, active }) => active > 0 && !configured.has(organization)),
  }
}

/** The part of the organizations that a server shows: `find` is in their ids. `notices` are what is wrong with that server. */
export type Served = { find: string; page: number; pages: number; found: number; notices?: readonly string[] }

const ON_A_PAGE = 50

/**
 * Looks up the part of the overview that `page` shows, of the organizations whose ids hold `find`. A page that is not there is the nearest one.
 * All runs that are drawn are looked up only of the organizations that are shown.
 */
export async function readPart(mirror: Readable, facts: OverviewFacts, { find, page }: Pick<Served, 'find' | 'page'>) {
  const overview = await readOverview(mirror, facts, LEAST_RUNS)
  const found = overview.organizations.filter(({ organization }) => organization.includes(find))
  const pages = Math.max(1, Math.ceil(found.length / ON_A_PAGE))
  const shown = Number.isInteger(page) ? Math.min(Math.max(1, page), pages) : 1
  const views = found.slice((shown - 1) * ON_A_PAGE, shown * ON_A_PAGE)
  const drawn = Map.groupBy(await mirror.listLatestRuns({ organizations: views.map(idOf), limit: DRAWN_RUNS }), idOf)
  const organizations = views.map((view) => {
    const known = { ...view, runs: asTheyStand(drawn.get(view.organization), view.underway) }
    return { ...known, standing: standingOf(known) }
  })
  const served: Served = { find, page: shown, pages, found: found.length }
  return { overview: { ...overview, organizations }, served }
}

async function readViews(mirror: Runs, listing: Promise<UncountedFreshness[]>, facts: OverviewFacts, limit: number) {
  const { organizations, nowMs, monotonicMs } = facts
  const [freshness, held, underway, runs] = await Promise.all([
    listing,
    mirror.listHeldRemovals(),
    mirror.listUnderway({ nowMs, monotonicMs }),
    mirror.listLatestRuns({ organizations: organizations.map(({ id }) => id), limit }),
  ])
  const freshnessOf = new Map(freshness.map((each) => [each.organization, each]))
  const underwayOf = new Map(underway.map((each) => [each.organization, progressOf(each, nowMs)]))
  const [heldOf, runsOf] = [Map.groupBy(held, idOf), Map.groupBy(runs, idOf)]
  return organizations.map(({ id, dueOf, paused, wait }): OrganizationView => {
    const known = {
      freshness: freshnessOf.get(id),
      due: dueOf(freshnessOf.get(id)),
      held: heldOf.get(id) ?? [],
      underway: underwayOf.get(id),
      ...{ paused, wait },
      runs: asTheyStand(runsOf.get(id), underwayOf.get(id)),
    }
    return { organization: id, ...known, standing: standingOf(known) }
  })
}

/** The runs of an organization: what is recorded as running, and is not under way, was interrupted. */
function asTheyStand(runs: readonly LatestRun[] = [], underway: Underway | undefined): LatestRun[] {
  const isKilled = ({ status, runId }: LatestRun) => status === 'running' && runId !== underway?.runId
  return runs.map((run) => (isKilled(run) ? { ...run, status: 'interrupted' } : run))
}

function idOf({ organization }: { organization: string }): string {
  return organization
}
