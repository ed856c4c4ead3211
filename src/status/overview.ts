import type { LatestRun, Underway } from '../model/report.ts'
import type { Pause } from '../model/pause.ts'
import type { Freshness, HeldRemovals, Mirror, UncountedFreshness } from '../model/mirror.ts'
import { type KnownOf, progressOf, standingOf, type Due, type Standing, type Wait } from './standing.ts'

/** What a page shows of one organization; the metrics show it without the counts of customers. */
export type OrganizationView<Shown extends UncountedFreshness = Freshness> = KnownOf<Shown> & {
  organization: string
  standing: Standing
}

/** What a page shows of all organizations, those that need attention first. */
export type Overview = {
  nowMs: number
  organizations: readonly OrganizationView[]
  /** How many of all organizations there are of each urgency. */
  totals: readonly number[]
  /** Organizations that are in the mirror, with active customers, but are not configured. */
  leftBehind: readonly { organization: string; active: number }[]
}

type ReadSoFar = Pick<Freshness, 'readAsOfMs' | 'firstRunAtMs'>

/** What the overview is made from. */
type Known<Shown extends UncountedFreshness = Freshness> = {
  /** Ids of the configured organizations. */
  organizations: readonly string[]
  freshness: readonly Shown[]
  held: readonly HeldRemovals[]
  underway: readonly Underway[]
  runs: readonly LatestRun[]
  dueOf: (organization: string, freshness: ReadSoFar | undefined) => Due | undefined
  /** Absent where the queue, which keeps the pauses, could not be asked. */
  pausedOf?: ((organization: string) => Pause | undefined) | undefined
  waitOf?: ((organization: string) => Wait | undefined) | undefined
  nowMs: number
}

/** How many runs of an organization are drawn. */
export const DRAWN_RUNS = 30
/** How many of its runs say how it stands: one may be under way. */
const LEAST_RUNS = 2

/** What is said of the organizations beside what the mirror holds. */
export type OverviewFacts = Pick<Known, 'organizations' | 'dueOf' | 'pausedOf' | 'waitOf' | 'nowMs'> & {
  monotonicMs: number | undefined
}

type Runs = Pick<Mirror, 'listHeldRemovals' | 'listUnderway' | 'listLatestRuns'>
type Readable = Runs & Pick<Mirror, 'listFreshness'>

/** How each organization stands: what the overview shows, without counts of customers and without the runs that it draws. */
export async function readStandings(
  mirror: Runs & Pick<Mirror, 'listUncountedFreshness'>,
  asked: OverviewFacts,
): Promise<OrganizationView<UncountedFreshness>[]> {
  return viewsOf(await readKnown(mirror, mirror.listUncountedFreshness(), asked, LEAST_RUNS))
}

/** Looks up in the mirror what the overview shows. */
export async function readOverview(mirror: Readable, asked: OverviewFacts): Promise<Overview> {
  return overviewOf(await readKnown(mirror, mirror.listFreshness(), asked, DRAWN_RUNS))
}

/**
 * Looks up the part of the overview that a server shows. The two latest runs of an organization say how it stands; all that are drawn
 * are looked up only where they are shown.
 */
export async function readPart(
  mirror: Readable,
  asked: OverviewFacts,
  wanted: { find: string; page: number },
): Promise<[Overview, Served]> {
  const known = await readKnown(mirror, mirror.listFreshness(), asked, LEAST_RUNS)
  const [part, served] = partOf(overviewOf(known), wanted)
  const organizations = part.organizations.map(({ organization }) => organization)
  const runs = await mirror.listLatestRuns({ organizations, limit: DRAWN_RUNS })
  return [{ ...part, organizations: overviewOf({ ...known, organizations, runs }).organizations }, served]
}

async function readKnown<Shown extends UncountedFreshness>(
  mirror: Runs,
  listing: Promise<Shown[]>,
  { monotonicMs, ...asked }: OverviewFacts,
  limit: number,
): Promise<Known<Shown>> {
  const { organizations, nowMs } = asked
  const [freshness, held, underway, runs] = await Promise.all([
    listing,
    mirror.listHeldRemovals(),
    mirror.listUnderway({ nowMs, monotonicMs }),
    mirror.listLatestRuns({ organizations, limit }),
  ])
  return { ...asked, freshness, held, underway, runs }
}

/** The overview, from what is known. */
function overviewOf(known: Known): Overview {
  const views = viewsOf(known)
  const configured = new Set(known.organizations)
  return {
    nowMs: known.nowMs,
    organizations: views.toSorted(byUrgency),
    totals: [0, 1, 2].map((urgency) => views.filter(({ standing }) => standing.urgency === urgency).length),
    leftBehind: known.freshness
      .filter(({ organization, active }) => active > 0 && !configured.has(organization))
      .map(({ organization, active }) => ({ organization, active })),
  }
}

function viewsOf<Shown extends UncountedFreshness>({
  organizations,
  nowMs,
  dueOf,
  pausedOf,
  waitOf,
  ...known
}: Known<Shown>): OrganizationView<Shown>[] {
  const freshness = new Map(known.freshness.map((each) => [each.organization, each]))
  const underway = new Map(known.underway.map((each) => [each.organization, each]))
  const held = Map.groupBy(known.held, (each) => each.organization)
  const runs = Map.groupBy(known.runs, (each) => each.organization)
  return organizations.map((organization) => {
    const run = underway.get(organization)
    const facts = {
      freshness: freshness.get(organization),
      due: dueOf(organization, freshness.get(organization)),
      held: held.get(organization) ?? [],
      underway: run && progressOf(run, nowMs),
      paused: pausedOf?.(organization),
      wait: waitOf?.(organization),
      runs: runs.get(organization) ?? [],
    }
    return { organization, ...facts, standing: standingOf(facts) }
  })
}

/** The gravest first, and within a grade in the order of their ids. */
function byUrgency(left: OrganizationView, right: OrganizationView): number {
  return (
    left.standing.urgency - right.standing.urgency ||
    (left.organization < right.organization ? -1 : left.organization > right.organization ? 1 : 0)
  )
}

/** The part of the organizations that a server shows: `find` is in their ids. `notices` are what is wrong with that server. */
export type Served = { find: string; page: number; pages: number; found: number; notices?: readonly string[] }

/** How many organizations a server shows at once. */
const ON_A_PAGE = 50

/** The part of the overview that `page` shows, of the organizations whose ids hold `find`. A page that is not there is the nearest one. */
export function partOf(overview: Overview, { find, page }: { find: string; page: number }): [Overview, Served] {
  const found = overview.organizations.filter(({ organization }) => organization.includes(find))
  const pages = Math.max(1, Math.ceil(found.length / ON_A_PAGE))
  const shown = Number.isInteger(page) ? Math.min(Math.max(1, page), pages) : 1
  const organizations = found.slice((shown - 1) * ON_A_PAGE, shown * ON_A_PAGE)
  return [
    { ...overview, organizations },
    { find, page: shown, pages, found: found.length },
  ]
}
