import { TEXT_FIELDS, type Customer } from '../customer.ts'

/** The fields that show whether a customer changed; `created_at_utc` follows from `created_at`. */
export const COMPARED_FIELDS = [...TEXT_FIELDS, 'extra'] as const
export type ComparedField = (typeof COMPARED_FIELDS)[number]

/** The fields in which a customer has changed. */
export function changedFields(before: Customer, after: Customer): ComparedField[] {
  return COMPARED_FIELDS.filter((field) => before[field] !== after[field])
}
