import { parsedJson } from '../parsed-json.ts'

/** The texts by which what is left of a customer is found. */
export type CustomerTexts = { all: string[]; email: string[] }

/** Shorter texts are no names, and stand everywhere. */
const SHORTEST = 6

/** The fields that name a customer. */
export const NAMING_FIELDS = ['name', 'username', 'email', 'phone', 'address'] as const

/** The fields in which another customer may have the same value: then it names neither. */
export const FIELDS_IN_COMMON = [...NAMING_FIELDS, 'company_name'] as const

/**
 * The values that name a customer in JSON objects that hold some of its fields: the customer itself, its changes (each field with the
 * values before and after), and its rejected records. Other JSON is passed over.
 */
export function textsOfCustomer(documents: Iterable<string | null>): CustomerTexts {
  const texts = [...documents].flatMap(textsIn).filter(({ value }) => value.length >= SHORTEST)
  return {
    all: [...new Set(texts.map(({ value }) => value))],
    email: [...new Set(texts.filter(({ field }) => field === 'email').map(({ value }) => value))],
  }
}

function textsIn(json: string | null): { field: string; value: string }[] {
  const document = parsedJson(json ?? '')
  if (typeof document !== 'object' || document === null) return []
  const values: Partial<Record<string, unknown>> = { ...document }
  return NAMING_FIELDS.flatMap((field) =>
    [values[field]]
      .flatMap((value): unknown[] => (Array.isArray(value) ? value.slice(0, 2) : [value]))
      .flatMap((value) => (typeof value === 'string' ? [{ field, value }] : [])),
  )
}

/** The forms of an id in a text. */
export function formsOfId(id: string): string[] {
  const digits = id.replaceAll('-', '')
  return [id, id.toUpperCase(), digits, digits.toUpperCase()]
}

/** A text as it stands in a column, and within JSON. */
export function formsOfText(text: string): string[] {
  const inJson = JSON.stringify(text).slice(1, -1)
  return inJson === text ? [text] : [text, inJson]
}

/** Stands in place of a message of an error that named the customer. */
export const HIDDEN_ERROR = 'The message named a customer that is forgotten.'
