import * as z from 'zod'
import { measurementSchema } from '../messages.ts'

/** What a PostgreSQL server did for a run, all of its processes together. */
const serverWorkSchema = z.object({
  cpuMs: z.number(),
  walBytes: z.number(),
  transactions: z.number(),
  /** Between the program and the server, both ways. */
  networkBytes: z.number(),
  mostConnections: z.number(),
})
export type ServerWork = z.output<typeof serverWorkSchema>

/** Bytes of tables with their indexes, by table. */
const storageSchema = z.record(z.string(), z.number())
export type Storage = z.output<typeof storageSchema>

const nights = <Night extends z.ZodType>(night: Night) => z.object({ load: night, rest: night, changed: night })
const nightOfBoth = z.object({ program: measurementSchema, server: serverWorkSchema })

/** What `npm run bench -- --scale` measured: one organization, in an initial sync, a night at rest, and one with 1 % changed. */
export const figuresSchema = z.object({
  machine: z.record(z.string(), z.string()),
  customers: z.number(),
  /** The size of an answer with a hundred customers, uncompressed. */
  pageBytes: z.number(),
  sqlite: z.object({ nights: nights(measurementSchema), storage: storageSchema }),
  /** So many such organizations at the same time, at rest. */
  atOnce: z.object({ organizations: z.number(), rest: measurementSchema }),
  postgres: z.object({ version: z.string(), nights: nights(nightOfBoth), storage: storageSchema }),
})
export type Figures = z.output<typeof figuresSchema>
