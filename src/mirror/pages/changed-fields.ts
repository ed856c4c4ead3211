import { TEXT_FIELDS, type Customer } from '../../customer.ts'
import { isFilled } from '../../privacy/hidden-values.ts'

/** The fields that show whether a customer changed; `created_at_utc` follows from `created_at`. */
export const COMPARED_FIELDS = [...TEXT_FIELDS, 'extra'] as const
export type ComparedField = (typeof COMPARED_FIELDS)[number]

/** The fields in which a customer has changed. */
export function changedFields(before: Customer, after: Customer): ComparedField[] {
  return COMPARED_FIELDS.filter((field) => before[field] !== after[field])
}

/** The differing fields in which the customer itself changed: a value that was hidden otherwise before is filled in. */
export function ownChanges(
  { before, after, differing }: { before: Customer; after: Customer; differing: readonly ComparedField[] },
  unfilled: readonly string[] = [],
): readonly ComparedField[] {
  return unfilled.length === 0 ? differing : differing.filter((field) => !isFilled(field, before, after, unfilled))
}

/** JSON: field → [before, after]. */
export function beforeAndAfter(before: Customer, after: Customer, fields: readonly ComparedField[]): string {
  return JSON.stringify(Object.fromEntries(fields.map((field) => [field, [before[field], after[field]]])))
}
