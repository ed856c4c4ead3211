import * as z from 'zod'

/** What the processes of the benchmark send each other, as JSON: in an argument, a line of output or a request. */

/** What the service lists: as it was, with 1 % of the rows changed, with 1 % of them gone, or with 1 % new at its top. */
const EDITIONS = ['base', 'changed', 'gone', 'new'] as const

/** How the service answers from now on. */
export const answeringSchema = z.object({ latencyMs: z.number(), edition: z.enum(EDITIONS) })
export type Answering = z.output<typeof answeringSchema>

/** What the service lists: so many organizations of so many customers each. */
export const datasetSchema = z.object({ organizations: z.number(), customers: z.number() })
export type Dataset = z.output<typeof datasetSchema>

/** The paths that were asked for, in the order in which they came in. */
export const askedSchema = z.array(z.string())

/** What a contender or a floor is to do. */
const taskSchema = z.object({
  origin: z.string(),
  organizations: z.array(z.string()),
  /** All customers of these organizations. */
  customers: z.number().optional(),
  /** The file to write, or the address of a mirror. */
  file: z.string(),
  /** A JSON file of the paths to ask for, where a floor repeats what a contender asked. */
  asked: z.string().optional(),
  scan: z.enum(['chain', 'plain']),
  concurrency: z.number(),
  /** Organizations that are mirrored at the same time. */
  sideBySide: z.number(),
})
export type Task = z.output<typeof taskSchema>

/** What one process measured of its own work. What the system does not say, or was not watched, is undefined. */
export const measurementSchema = z.object({
  wallMs: z.number(),
  /** All threads, in user and system. */
  cpuMs: z.number().optional(),
  peakRssBytes: z.number().optional(),
  /** The longest turn of the event loop, by the clock. */
  longestBlockMs: z.number().optional(),
  writtenBytes: z.number().optional(),
  /** Size of the file that was left behind. */
  fileBytes: z.number().optional(),
  requests: z.number().optional(),
  customers: z.number().optional(),
  /** What became of the customers, to see that the right thing was measured. */
  counts: z.record(z.string(), z.number()).optional(),
})
export type Measurement = z.output<typeof measurementSchema>

/** The task this process was started with. */
export function readTask(): Task {
  return taskSchema.parse(JSON.parse(process.argv[2] ?? ''))
}

/** Where the service lists the customers of an organization, without `/customers`. */
export function baseUrlOf(origin: string, organization: string): string {
  return `${origin}/${organization}/api/v1`
}

/** The service verifies nothing. */
export const CREDENTIALS = { apiKey: 'made-up-key', secret: 'made-up-secret' }

/** The ids of the organizations of a dataset. */
export function organizationIds({ organizations }: Dataset): string[] {
  return Array.from({ length: organizations }, (_, index) => `org-${index + 1}`)
}
