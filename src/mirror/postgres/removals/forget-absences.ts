import { GIVEN_ROWS } from '../given-rows.ts'

/*
 * What is deleted of customers ($2 are their rows, $1 is their organization) who are listed again, or are removed.
 */

/** The next absence is counted as the first one. */
export const FORGET_ABSENCES = `DELETE FROM absences WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}`

/** A removal that was held back waits for no decision any more. */
export const RELEASE = `DELETE FROM held_removals WHERE organization = $1 AND row_id = ANY ${GIVEN_ROWS}`
