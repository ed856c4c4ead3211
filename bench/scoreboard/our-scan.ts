import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Contender,
  idsIn,
  type OpenContender,
  type Organization,
  type Said,
  type Terms,
  type PageRead,
} from './contender.ts'
import { BUILT_IN } from '../../src/config/schema.ts'
import { factsOfCode } from '../../src/errors/error-facts.ts'
import { openSource, type Source } from '../../src/source/customers.ts'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { read } from '../read-mirror.ts'
import { mirrorOrganization, type Outcome } from '../../src/sync/mirror-organization.ts'

/** This program with its built-in settings, over HTTP, into a mirror file of its own. */
export const ourScan: OpenContender = async (organization, terms): Promise<Contender> => {
  const folder = await mkdtemp(join(tmpdir(), 'customer-mirror-scoreboard-'))
  const file = join(folder, 'customers.db')
  const mirror = await openMirror(file)
  let active = new Set<string>()

  async function spendNight(listRead: () => void): Promise<Said> {
    const source = openOwnSource(organization, terms)
    const pages: PageRead[] = []
    try {
      const outcome = await mirrorOrganization({
        scan: 'chain',
        pageSize: BUILT_IN.pageSize,
        organization: organization.id,
        source: watched(source, { pages, listRead }),
        mirror,
        trigger: 'schedule',
        concurrency: terms.concurrency,
        resumeWithinMs: BUILT_IN.resumeWithin,
        removals: BUILT_IN.removals,
        now: terms.clock.now,
        monotonicMs: terms.clock.now,
        random: () => 0.5,
        signal: new AbortController().signal,
      })
      return { ...saidOf(outcome), pages, holes: await holesOf(mirror, outcome) }
    } finally {
      source.close()
      // Read like any user of the mirror.
      const rows = await read<{ id: string }>(file, 'SELECT id FROM active_customers')
      active = new Set(rows.map(({ id }) => id))
    }
  }

  return {
    spendNight,
    active: () => active,
    close: async () => {
      await mirror.close()
      await rm(folder, { recursive: true })
    },
  }
}

function openOwnSource({ baseUrl, apiKey, secret }: Organization, terms: Terms): Source {
  const { recipe, clock, requestTimeoutMs, concurrency, rateLimit } = terms
  const waits = { maxWaitMs: BUILT_IN.maxWait, longestWaitMs: BUILT_IN.maxWait }
  return openSource({
    settings: { baseUrl: new URL(baseUrl), signing: recipe, requestTimeoutMs, concurrency, ...waits },
    credentials: { apiKey, secret },
    rateLimit,
    userAgent: 'customer-mirror/scoreboard',
    now: clock.now,
    monotonicMs: clock.now,
    random: () => 0.5,
    sleep: clock.sleep,
  })
}

type Watching = { pages: PageRead[]; listRead: () => void }

/**
 * The source, noting the pages that came and when the list was read: searches come after the scan.
 */
function watched(source: Source, { pages, listRead }: Watching): Pick<Source, 'readPage' | 'search' | 'counters'> {
  return {
    counters: source.counters,
    async readPage(window, stopping) {
      const page = await source.readPage(window, stopping)
      pages.push(idsIn(page.records()))
      return page
    },
    search(text, stopping) {
      listRead()
      return source.search(text, stopping)
    },
  }
}

function saidOf({ report }: Outcome): Pick<Said, 'claim' | 'word' | 'reasons' | 'isDefect'> {
  const { status, proof, reasons, error } = report
  if (status !== 'complete') {
    const code = error?.code ?? status
    return { claim: 'failed', word: 'failed', reasons: [code], isDefect: error !== undefined && isDefect(code) }
  }
  return { claim: CLAIMS[proof], word: proof, reasons, isDefect: false }
}

const CLAIMS = { proven: 'whole', settled: 'settled', unproven: 'doubtful' } as const

/** Nothing a service does may lead to these. */
function isDefect(code: string): boolean {
  const { from } = factsOfCode(code)
  return from === 'ours' || from === 'other-run'
}

async function holesOf(mirror: Mirror, { report }: Outcome): Promise<Said['holes']> {
  const run = report.runId === undefined ? undefined : await mirror.findRun(report.runId)
  return run?.certificate === undefined ? [] : certificateSchema.parse(run.certificate).holes
}

const certificateSchema = z.object({ holes: z.array(z.object({ position: z.int(), size: z.int() })) })
