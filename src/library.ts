import * as z from 'zod'
import { absoluteMirror } from './address/mirror-address.ts'
import { chooseOrganizations } from './config/organization.ts'
import { type Config, readConfig as readConfiguration } from './config/read-config.ts'
import { readChanges, readCustomers, readStatement, type SomeRows } from './copies/read-rows.ts'
import { UsageError } from './errors/errors.ts'
import { monotonicMs } from './machine/timers.ts'
import { forEachField, namedId } from './model/customer.ts'
import { publicColumns } from './model/public-tables.ts'
import { toJson } from './model/report.ts'
import { closing, openMirror as openToWrite } from './store/mirror.ts'
import { type RateLimits, runOrganization } from './sync/run-organization.ts'
import { parsedJson } from './text/parsed-json.ts'

/* What other programs import. Rows have the columns of docs/reference/data.md, errors thrown on purpose a `code` of docs/reference/codes.md. */

export type { Config } from './config/read-config.ts'

/** The report of a run, as `sync --json` prints it. */
export type RunReport = ReturnType<typeof toJson>

/** A customer of the mirror. Personal fields are null in a copy without them. */
export type MirroredCustomer = z.output<typeof mirroredCustomer>

/** A change: who came, left or returned, or whose fields changed; each field with the values before and after. */
export type Change = z.output<typeof mirroredChange>

/** A mirror or a published copy of one, to read. */
export type MirrorReader = Awaited<ReturnType<typeof openMirror>>

/** The configuration in a file, else where `customer-mirror` looks for it. Throws with every mistake in it. */
export async function readConfig(file?: string): Promise<Config> {
  return readConfiguration({ file, cwd: process.cwd() })
}

/**
 * Makes a run of one organization, as `customer-mirror sync` does, without publishing copies, and returns its report, whose `status` says how it
 * ended. An aborted run saves its pages, and the next one continues there. Throws where the mirror cannot be opened.
 */
export async function mirrorOrganization(
  config: Config,
  organization: string,
  { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
): Promise<RunReport> {
  const [chosen] = chooseOrganizations(config, [organization])
  if (chosen === undefined) throw new UsageError('No organization is named.')
  const rateLimits = RATE_LIMITS.get(config) ?? new Map()
  RATE_LIMITS.set(config, rateLimits)
  const mirror = await openToWrite(config.mirror, { signal })
  return closing(mirror, async () => {
    const { report } = await runOrganization(chosen, {
      ...{ mirror, rateLimits, signal, trigger: 'sync', longestWaitMs: chosen.maxWaitMs },
      ...{ now: Date.now, monotonicMs, random: Math.random },
    })
    return toJson(report)
  })
}

/** Runs at the same time may share a limit. */
const RATE_LIMITS = new WeakMap<Config, RateLimits>()

/**
 * Opens a mirror, or a copy of one, by its path or address: that of a configuration is `config.mirror`. Each reading is of one state, takes some rows
 * at a time, and is over when its loop ends: there is nothing to close. Throws where there is none.
 */
export async function openMirror(pathOrAddress: string) {
  const place = absoluteMirror(pathOrAddress, process.cwd())
  await Array.fromAsync(readStatement(place, 'SELECT 1'))
  const columns = publicColumns('active_customers').map(({ name }) => name)
  const customersBy = (filter: Partial<Parameters<typeof readCustomers>[1]>) =>
    parsed(mirroredCustomer, readCustomers(place, { columns, includeRemoved: true, ...filter }))
  return {
    /** The customers by organization and id; without the removed ones unless they are asked for. */
    customers: ({ includeRemoved = false, ...filter }: CustomersAsked = {}) =>
      customersBy({ ...filter, includeRemoved }),
    /** One customer, removed or not; undefined where the organization never listed this id. */
    async customer(organization: string, asked: string): Promise<MirroredCustomer | undefined> {
      const id = namedId({ id: asked })
      const found = id === undefined ? [] : await Array.fromAsync(customersBy({ organization, id }))
      return found[0]
    },
    /** The changes after a seq, in order: remember the seq of the last one. Throws where some after it are no longer kept. */
    changes: (filter: { since: number; organization?: string }) => parsed(mirroredChange, readChanges(place, filter)),
    /** The rows of one SQL statement that only reads; integers are numbers. */
    rows: (statement: string) => parsed(anyRow, readStatement(place, statement, { limitMs: 0 })),
  }
}

type CustomersAsked = { organization?: string; search?: string; includeRemoved?: boolean }

async function* parsed<Row>(schema: z.ZodType<Row>, found: AsyncIterable<SomeRows>): AsyncGenerator<Row, void> {
  for await (const { columns, rows } of found)
    for (const row of rows) yield schema.parse(Object.fromEntries(columns.map((name, at) => [name, row[at]])))
}

const number = z.union([z.number(), z.bigint().transform(Number)])
const text = z.string().nullable()
const personal = text.default(null)

const mirroredCustomer = z.object({
  organization: z.string(),
  id: z.string(),
  ...forEachField(() => personal),
  created_at_utc: text,
  extra: personal,
  first_seen_at: z.string(),
  changed_at: z.string(),
  missing_since: text,
  removed_at: text,
  last_run_id: number,
  updated_at: z.string(),
  is_active: z.bigint().transform(Boolean),
})

const changedFields = z.record(z.string(), z.tuple([text, text]))

const mirroredChange = z.object({
  seq: number,
  run_id: number,
  organization: z.string(),
  id: z.string(),
  change: z.enum(['added', 'changed', 'removed', 'returned']),
  fields: personal.transform((json) => (json === null ? null : changedFields.parse(parsedJson(json)))),
  changed_at: z.string(),
  missing_since: text,
})

const anyRow = z.record(z.string(), z.union([z.string(), number, z.instanceof(Uint8Array), z.null()]))
