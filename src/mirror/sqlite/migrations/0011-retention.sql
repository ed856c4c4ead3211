-- What retention has deleted: since when changes and history are complete.

-- One row for each organization of which rows were deleted. Public.
CREATE TABLE horizons (
  organization   TEXT NOT NULL PRIMARY KEY,
  pruned_seq     INTEGER NOT NULL DEFAULT 0,       -- its changes up to this number are deleted, or are being deleted
  feed_seq       INTEGER NOT NULL DEFAULT 0,       -- a reader of changes who has read less than this needs a new copy
  history_from   DATETIME,                         -- its history and daily counts begin here; NULL: at its first complete run
  customers_from DATETIME                          -- customers removed before this are deleted; NULL: none
);

-- Up to which day the runs of an organization were looked through. Internal.
CREATE TABLE pruned_runs (
  organization TEXT NOT NULL PRIMARY KEY,
  before_day   TEXT NOT NULL
);

-- Resolved rejects are found by their age.
CREATE INDEX resolved_rejects ON rejects (organization, resolved_at) WHERE resolved_at IS NOT NULL;

-- As before, with the changes after pruned_seq alone. A customer who has not changed since has one version, which begins at
-- history_from. Changes of a customer who was deleted have '{ }' as their fields: the id may come back, as another life.
DROP VIEW IF EXISTS customers_history;
CREATE VIEW customers_history AS
WITH versions AS (
  SELECT organization, id, NULL AS closed_seq,
    (SELECT MAX(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
      AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = customers.organization), 0))
      AS opened_seq
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT MAX(before.seq) FROM changes AS before
      WHERE before.organization = changes.organization AND before.id = changes.id AND before.seq < changes.seq
        AND before.seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0))
  FROM changes WHERE change IN ('changed', 'removed') AND fields IS NOT '{ }'
    AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0)
)
SELECT
  versions.organization,
  versions.id,
  (SELECT max(customers.first_seen_at, coalesce(horizons.history_from, '')) WHERE opened.seq IS NULL
    UNION ALL SELECT opened.at WHERE opened.seq IS NOT NULL) AS valid_from,
  closed.at AS valid_to,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < opened.run_id AND status = 'complete'
      AND (proof IN ('proven', 'converged') OR reasons = '["plain-scan"]')
    ORDER BY runs.id DESC LIMIT 1) AS valid_from_after,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < closed.run_id AND status = 'complete'
      AND (proof IN ('proven', 'converged') OR reasons = '["plain-scan"]')
      AND (closed.change = 'changed' OR finished_at < closed.missing_since)
    ORDER BY runs.id DESC LIMIT 1) AS valid_to_after,
  CAST(coalesce(opened.change, iif(customers.first_seen_at < horizons.history_from, 'kept', 'listed')) AS TEXT) AS opened_by,
  closed.change AS closed_by,
  CAST(iif(versions.closed_seq IS NULL, customers.name, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.name[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.name)), '$')) AS TEXT) AS name,
  CAST(iif(versions.closed_seq IS NULL, customers.username, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.username[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.username') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.username)), '$')) AS TEXT) AS username,
  CAST(iif(versions.closed_seq IS NULL, customers.email, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.email[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.email') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.email)), '$')) AS TEXT) AS email,
  CAST(iif(versions.closed_seq IS NULL, customers.phone, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.phone[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.phone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.phone)), '$')) AS TEXT) AS phone,
  CAST(iif(versions.closed_seq IS NULL, customers.address, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.address[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.address') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.address)), '$')) AS TEXT) AS address,
  CAST(iif(versions.closed_seq IS NULL, customers.company_name, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.company_name[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.company_name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.company_name)), '$')) AS TEXT) AS company_name,
  CAST(iif(versions.closed_seq IS NULL, customers.language, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.language[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.language') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.language)), '$')) AS TEXT) AS language,
  CAST(iif(versions.closed_seq IS NULL, customers.timezone, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.timezone[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.timezone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.timezone)), '$')) AS TEXT) AS timezone,
  CAST(iif(versions.closed_seq IS NULL, customers.created_at, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.created_at[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.created_at') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.created_at)), '$')) AS TEXT) AS created_at,
  CAST(iif(versions.closed_seq IS NULL, customers.extra, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.extra[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.extra') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.extra)), '$')) AS TEXT) AS extra
FROM versions
JOIN customers ON customers.organization = versions.organization AND customers.id = versions.id
LEFT JOIN changes AS opened ON opened.seq = versions.opened_seq
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq
LEFT JOIN horizons ON horizons.organization = versions.organization;

-- As before, from the day of history_from on. The customers of that morning are not counted as added on it.
DROP VIEW IF EXISTS customers_daily;
CREATE VIEW customers_daily AS
WITH RECURSIVE counted (organization, day, change, customers) AS (
  SELECT changes.organization, substr(at, 1, 10), change, COUNT(*)
  FROM changes LEFT JOIN horizons ON horizons.organization = changes.organization
  WHERE seq > coalesce(pruned_seq, 0)
  GROUP BY changes.organization, substr(at, 1, 10), change
),
spans (organization, first_day, last_day, is_whole) AS (
  SELECT runs.organization, max(substr(MIN(finished_at), 1, 10), coalesce(substr(horizons.history_from, 1, 10), '')),
    max(substr(MIN(finished_at), 1, 10), coalesce(substr(horizons.history_from, 1, 10), ''),
      (SELECT substr(MAX(started_at), 1, 10) FROM runs AS last WHERE last.organization = runs.organization),
      coalesce((SELECT MAX(day) FROM counted WHERE counted.organization = runs.organization), '')),
    horizons.history_from IS NULL
  FROM runs LEFT JOIN horizons ON horizons.organization = runs.organization
  WHERE status = 'complete' AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
  GROUP BY runs.organization
),
days (organization, day, last_day) AS (
  SELECT organization, first_day, last_day FROM spans
  UNION ALL
  SELECT organization, date(day, '+1 day'), last_day FROM days WHERE day < last_day
),
daily (organization, day, before, added, removed, changed) AS (
  SELECT organization, day, 0, 0, 0, 0 FROM days
  UNION ALL
  -- A clock that was set back may have dated a change before the first day.
  SELECT counted.organization, max(day, first_day), 0, iif(change IN ('added', 'returned'), customers, 0),
    iif(change = 'removed', customers, 0), iif(change = 'changed', customers, 0)
  FROM counted JOIN spans ON spans.organization = counted.organization
  UNION ALL
  SELECT organization, first_day, iif(is_whole, 0, customers), iif(is_whole, customers, 0), 0, 0 FROM (
    SELECT organization, first_day, is_whole,
      (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization)
        - (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization AND removed_at IS NOT NULL)
        - (SELECT coalesce(SUM(iif(change = 'removed', -customers, customers)), 0) FROM counted
          WHERE counted.organization = spans.organization AND change <> 'changed') AS customers
    FROM spans)
)
SELECT
  CAST(organization AS TEXT) AS organization,
  CAST(day AS TEXT) AS day,
  CAST(SUM(SUM(before) + SUM(added) - SUM(removed)) OVER (PARTITION BY organization ORDER BY day) AS INTEGER) AS active,
  CAST(SUM(added) AS INTEGER) AS added,
  CAST(SUM(removed) AS INTEGER) AS removed,
  CAST(SUM(changed) AS INTEGER) AS changed
FROM daily GROUP BY organization, day;
