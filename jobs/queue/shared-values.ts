import type { z } from 'zod'
import { parsedJson } from '../../src/parsed-json.ts'

/**
 * Small texts that all workers of a queue share, by name, kept in its database until they are deleted or the database loses them.
 * They hold no personal data and no secrets. Every verb rejects, or never settles, while the queue cannot be reached.
 */
export type SharedValues = {
  /** Undefined where there is none of this name. */
  read(name: string): Promise<string | undefined>
  /** Those whose names begin so, by name. */
  list(beginning: string): Promise<Map<string, string>>
  write(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
  /**
   * Writes `value` only where the value is still `before` (undefined: where there is none), and returns whether it did. One of several
   * writers with the same `before` succeeds.
   */
  replace(name: string, before: string | undefined, value: string): Promise<boolean>
}

/** A value that is kept as JSON in this form; undefined for a text that cannot be read, such as one of a newer version. */
export function parseValue<Form extends z.ZodType>(form: Form, text: string): z.output<Form> | undefined {
  return form.safeParse(parsedJson(text)).data
}
