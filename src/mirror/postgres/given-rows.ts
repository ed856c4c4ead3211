/**
 * The row numbers in $2, for `row_id = ANY`. The planner does not see how many there are, so it looks each of them up: for thousands it
 * would rather read all customers of the organization.
 */
export const GIVEN_ROWS = '(ARRAY(SELECT unnest($2::bigint[])))'
