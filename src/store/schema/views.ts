import { TEXT_FIELDS } from '../../model/customer.ts'
import type { Words } from './words.ts'

const VERSIONED = [...TEXT_FIELDS, 'extra']

/** Whether a run read the list to its end, and kept most of it: the condition of `freshness.read_as_of`. */
export const READ_TO_END = `status = 'complete' AND CAST(reasons AS text) NOT LIKE '%"cached-answer"%' AND rejected <= received / 2.0`
const PROVEN = `${READ_TO_END} AND proof <> 'unproven'`
const GOOD = `status = 'complete' AND (proof <> 'unproven' OR CAST(reasons AS text) = '["plain-scan"]')`

/** The latest run of an organization that fulfils a condition: one seek in an index, however many runs there are. */
export const lastRunOf = (organization: string, condition: string) =>
  `(SELECT id FROM runs WHERE runs.organization = ${organization} AND ${condition} ORDER BY id DESC LIMIT 1)`
const LAST = (condition: string) => lastRunOf('organizations.organization', condition)
const PRUNED = (table: string) =>
  `coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = ${table}.organization), 0)`

export const views = (f: Words): string => `
CREATE VIEW active_customers AS
SELECT organization, id, ${TEXT_FIELDS.join(', ')}, created_at_utc, extra, first_seen_at, changed_at, missing_since, removed_at,
  last_run_id, updated_at, is_active
FROM customers WHERE removed_at IS NULL;

CREATE VIEW customers_normalized AS
SELECT organization, id, ${f.string(`nullif(${f.small('trim(email)')}, '')`)} AS email, ${f.string(`nullif(${f.small('trim(company_name)')}, '')`)} AS company_name,
  removed_at, is_active
FROM customers;

-- The customers whose removal waits for a decision.
CREATE VIEW held_removals AS
SELECT held.organization, customers.id, name, username, email, 
  -- A subselect keeps the type of its column in SQLite.
  (SELECT missing_since WHERE missing_since IS NOT NULL UNION ALL SELECT held.absent_since WHERE missing_since IS NULL) AS absent_since,
  held.run_id
FROM held_rows AS held
JOIN customers ON customers.organization = held.organization AND customers.row_id = held.row_id
WHERE discarded = 0 AND removed_at IS NULL;

-- How current each organization's rows are. The organizations are found by one seek each, not from every run.
CREATE VIEW freshness AS
WITH RECURSIVE organizations (organization) AS (
  SELECT min(organization) FROM runs
  UNION ALL
  SELECT (SELECT min(organization) FROM runs WHERE runs.organization > organizations.organization)
  FROM organizations WHERE organizations.organization IS NOT NULL
)
SELECT last.organization, whole.read_as_of, ${f.age('whole.read_as_of')} AS read_age_seconds,
  proven.read_as_of AS proven_as_of, ${f.age('proven.read_as_of')} AS proven_age_seconds, whole.proof,
  last.id AS last_run_id, last.status AS last_status,
  ${f.whole(`(SELECT count(*) FROM customers WHERE customers.organization = organizations.organization)
    - (SELECT count(*) FROM customers WHERE customers.organization = organizations.organization AND removed_at IS NOT NULL)`)} AS active,
  ${f.whole(`(SELECT count(*) FROM customers WHERE customers.organization = organizations.organization
    AND missing_since IS NOT NULL AND removed_at IS NULL)`)} AS missing,
  ${f.whole(`(SELECT count(*) FROM customers WHERE customers.organization = organizations.organization
    AND removed_at IS NOT NULL)`)} AS removed,
  ${f.whole(`(SELECT count(*) FROM rejects WHERE rejects.organization = organizations.organization
    AND resolved_at IS NULL)`)} AS open_rejects,
  ${f.whole(`(SELECT count(*) FROM held_rows WHERE held_rows.organization = organizations.organization
    AND discarded = 0)`)} AS held,
  retired.retired_at
FROM organizations
JOIN runs AS last ON last.id = ${LAST('true')}
LEFT JOIN runs AS whole ON whole.id = ${LAST(READ_TO_END)}
LEFT JOIN runs AS proven ON proven.id = ${LAST(PROVEN)}
LEFT JOIN retired_organizations AS retired ON retired.organization = organizations.organization;

-- Each customer as it was: a row for every version, from the change that opened it to the one that closed it. A version that is open is
-- the row in customers. What a version held is what the next change of that field found there, or else what the customer holds now: the
-- changes of a customer are read once, and the next change of a field is the least, by its number in 20 digits, of those that follow. The
-- last run before a change that proved what its configuration asks for saw the old value, so the change happened after the scan of that run
-- began. A customer who has not changed since history_from has one version, which begins there. Changes of a customer who was deleted have
-- '{ }' as their fields: the id may come back, as another life.
CREATE VIEW customers_history AS
WITH later AS (
  SELECT organization, id, seq, change, fields,
    ${VERSIONED.map((field) => `MIN(CASE WHEN ${f.has(field)} THEN ${f.padded('seq')} || ${f.before(field)} END) OVER after AS ${field}`).join(',\n    ')}
  FROM changes
  WINDOW after AS (PARTITION BY organization, id ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), versions AS (
  SELECT organization, id, ${f.whole('NULL')} AS closed_seq,
    (SELECT MAX(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
      AND seq > ${PRUNED('customers')}) AS opened_seq,
    ${VERSIONED.map((field) => `${f.string('NULL')} AS ${field}`).join(', ')}
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT MAX(before.seq) FROM changes AS before
      WHERE before.organization = later.organization AND before.id = later.id AND before.seq < later.seq
        AND before.seq > ${PRUNED('later')}),
    ${VERSIONED.join(', ')}
  FROM later WHERE change IN ('changed', 'removed') AND coalesce(CAST(fields AS text), '') <> '{ }' AND seq > ${PRUNED('later')}
)
SELECT versions.organization, versions.id,
  -- A subselect keeps the type of its column in SQLite.
  (SELECT ${f.greatest('customers.first_seen_at', 'horizons.history_from')} WHERE opened.seq IS NULL
    UNION ALL SELECT opened.changed_at WHERE opened.seq IS NOT NULL) AS valid_from,
  closed.changed_at AS valid_to,
  (SELECT read_as_of FROM runs WHERE runs.organization = versions.organization AND runs.id < opened.run_id AND ${GOOD}
    ORDER BY runs.id DESC LIMIT 1) AS valid_from_after,
  (SELECT read_as_of FROM runs WHERE runs.organization = versions.organization AND runs.id < closed.run_id AND ${GOOD}
      AND (closed.change = 'changed' OR finished_at < closed.missing_since)
    ORDER BY runs.id DESC LIMIT 1) AS valid_to_after,
  ${f.string(`coalesce(opened.change, CASE WHEN customers.first_seen_at < horizons.history_from THEN 'kept' ELSE 'listed' END)`)} AS opened_by,
  closed.change AS closed_by,
  ${VERSIONED.map((field) => `${f.shown(`CASE WHEN versions.${field} IS NULL THEN customers.${field} ELSE ${f.value(field, `substr(versions.${field}, 21)`)} END`)} AS ${field}`).join(',\n  ')}
FROM versions
JOIN customers ON customers.organization = versions.organization AND customers.id = versions.id
LEFT JOIN changes AS opened ON opened.seq = versions.opened_seq
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq
LEFT JOIN horizons ON horizons.organization = versions.organization;

-- What became of the customers of an organization on each day (UTC), to the last on which its list was read. The changes lead back from the
-- active customers of now to the first day; the customers that are left were added then, or before it.
CREATE VIEW customers_daily AS
WITH RECURSIVE counted (organization, day, change, customers) AS (
  SELECT changes.organization, ${f.day('changed_at')}, change, count(*)
  FROM changes LEFT JOIN horizons ON horizons.organization = changes.organization
  WHERE seq > coalesce(pruned_seq, 0) GROUP BY changes.organization, ${f.day('changed_at')}, change
), begun (organization, first_day, is_whole) AS (
  SELECT runs.organization, ${f.greatest(f.day('min(finished_at)'), f.day('min(horizons.history_from)'))}, min(horizons.history_from) IS NULL
  FROM runs LEFT JOIN horizons ON horizons.organization = runs.organization WHERE ${READ_TO_END} GROUP BY runs.organization
), spans (organization, first_day, last_day, is_whole) AS (
  SELECT organization, first_day, ${f.greatest(
    'first_day',
    f.greatest(
      `(SELECT ${f.day('max(started_at)')} FROM runs AS last WHERE last.organization = begun.organization AND ${READ_TO_END})`,
      '(SELECT max(day) FROM counted WHERE counted.organization = begun.organization)',
    ),
  )}, is_whole FROM begun
), days (organization, day, last_day) AS (
  SELECT organization, first_day, last_day FROM spans
  UNION ALL SELECT organization, ${f.nextDay('day')}, last_day FROM days WHERE day < last_day
), daily (organization, day, before, added, removed, changed) AS (
  SELECT organization, day, 0, 0, 0, 0 FROM days
  UNION ALL
  -- A clock that was set back may have dated a change before the first day.
  SELECT counted.organization, ${f.greatest('day', 'first_day')}, 0, CASE WHEN change IN ('added', 'returned') THEN customers ELSE 0 END,
    CASE WHEN change = 'removed' THEN customers ELSE 0 END, CASE WHEN change = 'changed' THEN customers ELSE 0 END
  FROM counted JOIN spans ON spans.organization = counted.organization
  UNION ALL
  SELECT organization, first_day, CASE WHEN is_whole THEN 0 ELSE customers END, CASE WHEN is_whole THEN customers ELSE 0 END, 0, 0 FROM (
    SELECT organization, first_day, is_whole,
      (SELECT count(*) FROM customers WHERE customers.organization = spans.organization)
        - (SELECT count(*) FROM customers WHERE customers.organization = spans.organization AND removed_at IS NOT NULL)
        - (SELECT coalesce(sum(CASE WHEN change = 'removed' THEN -customers ELSE customers END), 0) FROM counted
          WHERE counted.organization = spans.organization AND change <> 'changed') AS customers
    FROM spans ${f.apart}) AS rest
)
SELECT ${f.string('organization')} AS organization, ${f.dayText('day')} AS day,
  ${f.whole('sum(sum(before) + sum(added) - sum(removed)) OVER (PARTITION BY organization ORDER BY day)')} AS active,
  ${['added', 'removed', 'changed'].map((name) => `${f.whole(`sum(${name})`)} AS ${name}`).join(', ')}
FROM daily GROUP BY organization, day;
`

/** Whether a run is no partial run: only those read the whole list, and are due every night. */
export const IS_FULL = 'trusted_pages IS NULL'
export const IS_PARTIAL = 'trusted_pages IS NOT NULL'

/** Those of `own` that freshness, history and removals rest on, as a list of ids: the first that read the list, and the latest of each kind. */
export const RUNS_TO_KEEP = `SELECT MAX(id) AS id FROM own UNION ALL SELECT MAX(id) FROM own WHERE status <> 'running'
  UNION ALL SELECT MAX(id) FROM own WHERE status <> 'running' AND ${IS_FULL}
  UNION ALL SELECT MIN(id) FROM own WHERE ${READ_TO_END} UNION ALL SELECT MAX(id) FROM own WHERE ${READ_TO_END}
  UNION ALL SELECT MAX(id) FROM own WHERE shape_accepted_at IS NOT NULL
  UNION ALL SELECT MAX(id) FROM own WHERE ${PROVEN} UNION ALL SELECT MAX(id) FROM own WHERE ${GOOD}`

/** The start of the very first run of an organization. */
export const firstRunOf = (organization: string) =>
  `(SELECT started_at FROM runs WHERE organization = ${organization} ORDER BY id LIMIT 1)`
