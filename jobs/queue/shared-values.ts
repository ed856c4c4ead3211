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

/**
 * All values whose names begin so, by the rest of their names. One that cannot be read was written by a newer version: it is left out, and
 * `onUnreadable` gets its name.
 */
export async function listParsed<Value>(
  values: Pick<SharedValues, 'list'>,
  beginning: string,
  parse: (text: string) => Value | undefined,
  onUnreadable: (name: string) => void = () => {},
): Promise<Map<string, Value>> {
  const found = new Map<string, Value>()
  for (const [name, text] of await values.list(beginning)) {
    const parsed = parse(text)
    if (parsed === undefined) onUnreadable(name)
    else found.set(name.slice(beginning.length), parsed)
  }
  return found
}

/** A value that is kept as JSON in this form; undefined for a text that cannot be read, such as one of a newer version. */
export function parseValue<Form extends z.ZodType>(form: Form, text: string): z.output<Form> | undefined {
  return form.safeParse(parsedJson(text)).data
}
