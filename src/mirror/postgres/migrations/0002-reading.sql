-- What readers find beside the tables: how current the rows are, each customer as it was, and what became of customers day by day.

-- What happened on a day is counted without a look at the changes themselves.
CREATE INDEX changes_by_day ON changes (organization, at, change, seq);

-- How current each organization's rows are, in dates that each are the start of a scan. The organizations are found by one seek
-- each, not from every run.
CREATE VIEW freshness AS
WITH RECURSIVE organizations (organization) AS (
  (SELECT runs.organization FROM runs ORDER BY runs.organization LIMIT 1)
  UNION ALL
  SELECT (SELECT runs.organization FROM runs WHERE runs.organization > organizations.organization
    ORDER BY runs.organization LIMIT 1)
  FROM organizations WHERE organizations.organization IS NOT NULL
)
SELECT
  organizations.organization,
  good.data_as_of,
  round(extract(epoch FROM now() - good.data_as_of))::bigint AS age_seconds,
  good.proof,
  last.id AS last_run_id,
  last.status AS last_status,
  (SELECT count(*) FROM customers WHERE customers.organization = organizations.organization)
    - (SELECT count(*) FROM customers WHERE customers.organization = organizations.organization
        AND removed_at IS NOT NULL) AS active,
  (SELECT count(*) FROM customers WHERE customers.organization = organizations.organization
    AND missing_since IS NOT NULL AND removed_at IS NULL) AS missing,
  (SELECT count(*) FROM customers WHERE customers.organization = organizations.organization
    AND removed_at IS NOT NULL) AS removed,
  (SELECT count(*) FROM rejects WHERE rejects.organization = organizations.organization
    AND resolved_at IS NULL) AS open_rejects,
  whole.data_as_of AS read_as_of,
  round(extract(epoch FROM now() - whole.data_as_of))::bigint AS read_age_seconds,
  proven.data_as_of AS proven_as_of,
  round(extract(epoch FROM now() - proven.data_as_of))::bigint AS proven_age_seconds,
  (SELECT count(*) FROM held_removals WHERE held_removals.organization = organizations.organization) AS held,
  retired.retired_at
FROM organizations
JOIN LATERAL (
  SELECT id, status FROM runs WHERE runs.organization = organizations.organization ORDER BY id DESC LIMIT 1
) AS last ON true
LEFT JOIN LATERAL (
  SELECT data_as_of, proof FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND (proof <> 'unproven' OR reasons::text = '["plain-scan"]')
  ORDER BY id DESC LIMIT 1
) AS good ON true
LEFT JOIN LATERAL (
  SELECT data_as_of FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND reasons::text NOT LIKE '%"page-limit"%' AND reasons::text NOT LIKE '%"cached-answer"%'
  ORDER BY id DESC LIMIT 1
) AS whole ON true
LEFT JOIN LATERAL (
  SELECT data_as_of FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND proof IN ('proven', 'settled')
  ORDER BY id DESC LIMIT 1
) AS proven ON true
LEFT JOIN retired_organizations AS retired ON retired.organization = organizations.organization;

-- Each customer as it was: a row for every version, from the change that opened it to the one that closed it. What a version held is
-- what the next change of that field found there, or else what the customer holds now. A version that is open is the row in
-- customers. The last run before a change that proved what its configuration asks for saw the old value, so the change happened
-- after the scan of that run began. A customer who has not changed since history_from has one version, which begins there. Changes
-- of a customer who was deleted have '{ }' as their fields: the id may come back, as another life. PostgreSQL refuses to read a
-- value of JSON that holds U+0000 anywhere, so that is replaced first.
CREATE VIEW customers_history AS
WITH versions AS (
  SELECT organization, id, NULL::bigint AS closed_seq,
    (SELECT max(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
      AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = customers.organization), 0))
      AS opened_seq
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT max(before.seq) FROM changes AS before
      WHERE before.organization = changes.organization AND before.id = changes.id AND before.seq < changes.seq
        AND before.seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0))
  FROM changes WHERE change IN ('changed', 'removed') AND fields::text IS DISTINCT FROM '{ }'
    AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0)
), later AS NOT MATERIALIZED (
  SELECT organization, id, seq,
    CASE WHEN strpos(fields::text, '\u0000') = 0 THEN fields
      ELSE regexp_replace(fields::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json END AS fields
  FROM changes WHERE fields IS NOT NULL
)
SELECT
  versions.organization,
  versions.id,
  CASE WHEN opened.seq IS NULL THEN greatest(customers.first_seen_at, horizons.history_from) ELSE opened.at END AS valid_from,
  closed.at AS valid_to,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < opened.run_id AND status = 'complete'
      AND (proof <> 'unproven' OR reasons::text = '["plain-scan"]')
    ORDER BY runs.id DESC LIMIT 1) AS valid_from_after,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < closed.run_id AND status = 'complete'
      AND (proof <> 'unproven' OR reasons::text = '["plain-scan"]')
      AND (closed.change = 'changed' OR finished_at < closed.missing_since)
    ORDER BY runs.id DESC LIMIT 1) AS valid_to_after,
  coalesce(opened.change, CASE WHEN customers.first_seen_at < horizons.history_from THEN 'kept' ELSE 'listed' END) AS opened_by,
  closed.change AS closed_by,
  CASE WHEN versions.closed_seq IS NULL THEN customers.name ELSE coalesce(
    (SELECT later.fields -> 'name' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.name)) #>> '{}' END AS name,
  CASE WHEN versions.closed_seq IS NULL THEN customers.username ELSE coalesce(
    (SELECT later.fields -> 'username' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'username') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.username)) #>> '{}' END AS username,
  CASE WHEN versions.closed_seq IS NULL THEN customers.email ELSE coalesce(
    (SELECT later.fields -> 'email' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'email') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.email)) #>> '{}' END AS email,
  CASE WHEN versions.closed_seq IS NULL THEN customers.phone ELSE coalesce(
    (SELECT later.fields -> 'phone' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'phone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.phone)) #>> '{}' END AS phone,
  CASE WHEN versions.closed_seq IS NULL THEN customers.address ELSE coalesce(
    (SELECT later.fields -> 'address' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'address') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.address)) #>> '{}' END AS address,
  CASE WHEN versions.closed_seq IS NULL THEN customers.company_name ELSE coalesce(
    (SELECT later.fields -> 'company_name' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'company_name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.company_name)) #>> '{}' END AS company_name,
  CASE WHEN versions.closed_seq IS NULL THEN customers.language ELSE coalesce(
    (SELECT later.fields -> 'language' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'language') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.language)) #>> '{}' END AS language,
  CASE WHEN versions.closed_seq IS NULL THEN customers.timezone ELSE coalesce(
    (SELECT later.fields -> 'timezone' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'timezone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.timezone)) #>> '{}' END AS timezone,
  CASE WHEN versions.closed_seq IS NULL THEN customers.created_at ELSE coalesce(
    (SELECT later.fields -> 'created_at' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'created_at') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.created_at)) #>> '{}' END AS created_at,
  CASE WHEN versions.closed_seq IS NULL THEN customers.extra ELSE (coalesce(
    (SELECT later.fields -> 'extra' -> 0 FROM later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND (later.fields -> 'extra') IS NOT NULL ORDER BY later.seq LIMIT 1),
    to_json(customers.extra::text)) #>> '{}')::json END AS extra
FROM versions
JOIN customers ON customers.organization = versions.organization AND customers.id = versions.id
LEFT JOIN changes AS opened ON opened.seq = versions.opened_seq
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq
LEFT JOIN horizons ON horizons.organization = versions.organization;

-- What became of the customers of an organization on each day (UTC), from the day of its first complete run, or of history_from, to
-- that of its last run or change. At the end of the last day the active customers are those of now; the changes lead back from there
-- to the first day, and the customers that are left were added then, or before it. added: new or returned customers, so that
-- active = active of the day before + added - removed.
CREATE VIEW customers_daily AS
WITH counted AS NOT MATERIALIZED (
  SELECT changes.organization, (at AT TIME ZONE 'UTC')::date AS day, change, count(*) AS customers
  FROM changes LEFT JOIN horizons ON horizons.organization = changes.organization
  WHERE seq > coalesce(pruned_seq, 0)
  GROUP BY 1, 2, 3
), begun AS (
  SELECT runs.organization, horizons.history_from IS NULL AS is_whole,
    greatest((min(finished_at) AT TIME ZONE 'UTC')::date, (horizons.history_from AT TIME ZONE 'UTC')::date) AS first_day
  FROM runs LEFT JOIN horizons ON horizons.organization = runs.organization
  WHERE status = 'complete' AND reasons::text NOT LIKE '%"page-limit"%' AND reasons::text NOT LIKE '%"cached-answer"%'
  GROUP BY runs.organization, horizons.history_from
), spans AS (
  SELECT organization, is_whole, first_day, active_now,
    greatest(first_day,
      (SELECT (max(started_at) AT TIME ZONE 'UTC')::date FROM runs WHERE runs.organization = begun.organization),
      (SELECT max(day) FROM counted WHERE counted.organization = begun.organization)) AS last_day
  -- Joined, and not in the list above: there PostgreSQL would count the customers again for every day.
  FROM begun CROSS JOIN LATERAL (
    SELECT count(*) - (SELECT count(*) FROM customers WHERE customers.organization = begun.organization
      AND removed_at IS NOT NULL) AS active_now
    FROM customers WHERE customers.organization = begun.organization
  ) AS listed
), daily AS (
  SELECT spans.organization, is_whole, first_day, active_now, happened.day,
    sum(happened.added)::bigint AS added, sum(happened.removed)::bigint AS removed, sum(happened.changed)::bigint AS changed
  FROM spans CROSS JOIN LATERAL (
    SELECT first_day + step AS day, 0 AS added, 0 AS removed, 0 AS changed FROM generate_series(0, last_day - first_day) AS step
    UNION ALL
    -- A clock that was set back may have dated a change before the first day.
    SELECT greatest(counted.day, first_day), CASE WHEN change IN ('added', 'returned') THEN customers ELSE 0 END,
      CASE WHEN change = 'removed' THEN customers ELSE 0 END, CASE WHEN change = 'changed' THEN customers ELSE 0 END
    FROM counted WHERE counted.organization = spans.organization
  ) AS happened
  GROUP BY spans.organization, is_whole, first_day, active_now, happened.day
), summed AS (
  SELECT organization, is_whole, first_day, day, added, removed, changed,
    active_now - sum(added - removed) OVER (PARTITION BY organization) AS before,
    sum(added - removed) OVER (PARTITION BY organization ORDER BY day) AS since
  FROM daily
)
SELECT
  organization,
  to_char(day, 'YYYY-MM-DD') AS day,
  (before + since)::bigint AS active,
  (added + CASE WHEN is_whole AND day = first_day THEN before ELSE 0 END)::bigint AS added,
  removed,
  changed
FROM summed;
