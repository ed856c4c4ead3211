-- Tables for those who read the mirror with SQL: nothing internal in them, a type for every column, and their history.

DROP VIEW IF EXISTS active_customers;
DROP VIEW IF EXISTS freshness;

-- In how many scans in a row a customer was absent: proven ones, and proven or converged ones. A row for each customer that is
-- missing and not removed. Internal.
CREATE TABLE absences (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id) ON DELETE CASCADE,
  proven       INTEGER NOT NULL,
  scans        INTEGER NOT NULL
);
INSERT INTO absences (organization, row_id, proven, scans)
SELECT organization, row_id, missing_proven, missing_scans FROM customers
WHERE missing_since IS NOT NULL AND removed_at IS NULL;

-- The table is written anew once: shorter than to drop two columns, add one and fill it. Foreign keys are off while a mirror is
-- migrated, so rows that refer to a customer keep doing so.
CREATE TABLE customers_next (
  row_id         INTEGER PRIMARY KEY,              -- number of the row within this file
  organization   TEXT NOT NULL,
  id             TEXT NOT NULL,                    -- UUID, lower case
  name           TEXT,
  username       TEXT,
  email          TEXT,
  phone          TEXT,
  address        TEXT,
  company_name   TEXT,
  language       TEXT,
  timezone       TEXT,
  created_at     TEXT,
  created_at_utc DATETIME,                         -- NULL when created_at cannot be read
  extra          TEXT,                             -- JSON object of fields the specification does not know
  first_seen_at  DATETIME NOT NULL,
  changed_at     DATETIME NOT NULL,
  missing_since  DATETIME,                         -- absent from the last proven scan
  removed_at     DATETIME,                         -- absent often enough to be taken as no longer active
  last_run_id    INTEGER NOT NULL REFERENCES runs (id),
  updated_at     DATETIME NOT NULL,                -- the last visible change of the row; see last_update
  is_active      BOOLEAN NOT NULL DEFAULT 1        -- 0 once it is removed; not generated, which some tools do not show
);
INSERT INTO customers_next (row_id, organization, id, name, username, email, phone, address, company_name, language, timezone,
  created_at, created_at_utc, extra, first_seen_at, changed_at, missing_since, removed_at, last_run_id, updated_at, is_active)
SELECT row_id, organization, id, name, username, email, phone, address, company_name, language, timezone,
  created_at, created_at_utc, extra, first_seen_at, changed_at, missing_since, removed_at, last_run_id,
  max(changed_at, coalesce(missing_since, ''), coalesce(removed_at, '')), removed_at IS NULL
FROM customers ORDER BY row_id;
DROP TABLE customers;
ALTER TABLE customers_next RENAME TO customers;
-- Built at once from sorted keys, and not row by row.
CREATE UNIQUE INDEX customers_by_id ON customers (organization, id);
CREATE INDEX customers_not_listed ON customers (organization, missing_since, removed_at)
  WHERE missing_since IS NOT NULL OR removed_at IS NOT NULL;

-- The greatest updated_at there is. Each transaction takes a later one under the write lock, so a reader that has seen it
-- misses nothing with WHERE updated_at > ?. One row. Internal.
CREATE TABLE last_update (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  updated_at DATETIME NOT NULL
);
INSERT INTO last_update (id, updated_at) SELECT 1, coalesce(MAX(updated_at), '1970-01-01 00:00:00.000') FROM customers;

-- A customer changed or deleted by hand is repaired by the next run, because its record is compared again then. No column is
-- named, so a new one needs no new trigger.
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  REPLACE INTO edited_customers (organization, row_id)
    VALUES (OLD.organization, OLD.row_id), (NEW.organization, NEW.row_id);
END;
-- A customer removed by hand is inactive too.
CREATE TRIGGER customers_removed AFTER UPDATE OF removed_at ON customers
WHEN NEW.is_active IS NOT (NEW.removed_at IS NULL)
BEGIN
  UPDATE customers SET is_active = (NEW.removed_at IS NULL) WHERE row_id = NEW.row_id;
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  DELETE FROM absences WHERE row_id = OLD.row_id;
END;

CREATE VIEW active_customers AS
SELECT organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc,
  extra, first_seen_at, changed_at, missing_since, removed_at, last_run_id, updated_at, is_active
FROM customers WHERE removed_at IS NULL;

-- Since when a removed customer was absent, as far as it is known.
ALTER TABLE changes ADD COLUMN missing_since DATETIME;
UPDATE changes SET missing_since = removed.missing_since
FROM customers AS removed
WHERE change = 'removed' AND removed.removed_at = changes.at
  AND removed.organization = changes.organization AND removed.id = changes.id;

-- What happened on a day is counted without a look at the changes themselves.
CREATE INDEX changes_by_day ON changes (organization, substr(at, 1, 10), change);

-- As before, with a type for every count.
CREATE VIEW freshness AS
SELECT
  organizations.organization,
  good.data_as_of,
  CAST(ROUND((julianday('now') - julianday(good.data_as_of)) * 86400) AS INTEGER) AS age_seconds,
  good.proof,
  last.id AS last_run_id,
  last.status AS last_status,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization)
    - (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
        AND removed_at IS NOT NULL) AS INTEGER) AS active,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND missing_since IS NOT NULL AND removed_at IS NULL) AS INTEGER) AS missing,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND removed_at IS NOT NULL) AS INTEGER) AS removed,
  CAST((SELECT COUNT(*) FROM rejects WHERE rejects.organization = organizations.organization
    AND resolved_at IS NULL) AS INTEGER) AS open_rejects,
  whole.data_as_of AS read_as_of,
  CAST(ROUND((julianday('now') - julianday(whole.data_as_of)) * 86400) AS INTEGER) AS read_age_seconds,
  proven.data_as_of AS proven_as_of,
  CAST(ROUND((julianday('now') - julianday(proven.data_as_of)) * 86400) AS INTEGER) AS proven_age_seconds,
  CAST((SELECT COUNT(*) FROM held_removals WHERE held_removals.organization = organizations.organization) AS INTEGER)
    AS held
FROM (SELECT organization, MAX(id) AS last_id FROM runs GROUP BY organization) AS organizations
JOIN runs AS last ON last.id = organizations.last_id
LEFT JOIN runs AS good ON good.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND (proof IN ('proven', 'converged') OR reasons = '["plain-scan"]')
)
LEFT JOIN runs AS whole ON whole.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
)
LEFT JOIN runs AS proven ON proven.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND proof = 'proven'
);

-- What each public table and column holds, written by the program when it opens the mirror.
CREATE TABLE dictionary (
  "table"    TEXT NOT NULL,
  "column"   TEXT NOT NULL,
  type       TEXT NOT NULL,
  meaning    TEXT NOT NULL,
  source     TEXT NOT NULL,                        -- service | mirror
  nullable   BOOLEAN NOT NULL,
  personal   BOOLEAN NOT NULL,                     -- may hold personal data of a customer
  UNIQUE ("table", "column")
);

-- Each customer as it was: a row for every version, from the change that opened it to the one that closed it. What a version held is
-- what the next change of that field found there, or else what the customer holds now. A version that is open is the row in
-- customers. The last run before a change that proved what its configuration asks for saw the old value, so the change happened
-- after the scan of that run began. Without the arrows for JSON, and without hints: an SQLite that cannot parse one view opens no
-- table of the file, and that of some systems is older than both.
CREATE VIEW customers_history AS
WITH versions AS (
  SELECT organization, id, NULL AS closed_seq,
    (SELECT MAX(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id)
      AS opened_seq
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT MAX(before.seq) FROM changes AS before
      WHERE before.organization = changes.organization AND before.id = changes.id AND before.seq < changes.seq)
  FROM changes WHERE change IN ('changed', 'removed')
)
SELECT
  versions.organization,
  versions.id,
  (SELECT opened.at WHERE opened.seq IS NOT NULL
    UNION ALL SELECT customers.first_seen_at WHERE opened.seq IS NULL) AS valid_from,
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
  CAST(coalesce(opened.change, 'listed') AS TEXT) AS opened_by,
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
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq;

-- What became of the customers of an organization on each day (UTC), from the day of its first complete run to that of its last run
-- or change. At the end of the last day the active customers are those of now; the changes lead back from there to the first day,
-- and the customers that are left were added then. added: new or returned customers, so that active = active of the day before +
-- added - removed.
CREATE VIEW customers_daily AS
WITH RECURSIVE counted (organization, day, change, customers) AS (
  SELECT organization, substr(at, 1, 10), change, COUNT(*) FROM changes GROUP BY organization, substr(at, 1, 10), change
),
spans (organization, first_day, last_day) AS (
  SELECT runs.organization, substr(MIN(finished_at), 1, 10),
    max(substr(MIN(finished_at), 1, 10),
      (SELECT substr(MAX(started_at), 1, 10) FROM runs AS last WHERE last.organization = runs.organization),
      coalesce((SELECT MAX(day) FROM counted WHERE counted.organization = runs.organization), ''))
  FROM runs
  WHERE status = 'complete' AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
  GROUP BY runs.organization
),
days (organization, day, last_day) AS (
  SELECT organization, first_day, last_day FROM spans
  UNION ALL
  SELECT organization, date(day, '+1 day'), last_day FROM days WHERE day < last_day
),
daily (organization, day, added, removed, changed) AS (
  SELECT organization, day, 0, 0, 0 FROM days
  UNION ALL
  -- A clock that was set back may have dated a change before the first day.
  SELECT counted.organization, max(day, first_day), iif(change IN ('added', 'returned'), customers, 0),
    iif(change = 'removed', customers, 0), iif(change = 'changed', customers, 0)
  FROM counted JOIN spans ON spans.organization = counted.organization
  UNION ALL
  SELECT organization, first_day,
    (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization)
      - (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization AND removed_at IS NOT NULL)
      - (SELECT coalesce(SUM(iif(change = 'removed', -customers, customers)), 0) FROM counted
        WHERE counted.organization = spans.organization AND change <> 'changed'), 0, 0
  FROM spans
)
SELECT
  CAST(organization AS TEXT) AS organization,
  CAST(day AS TEXT) AS day,
  CAST(SUM(SUM(added) - SUM(removed)) OVER (PARTITION BY organization ORDER BY day) AS INTEGER) AS active,
  CAST(SUM(added) AS INTEGER) AS added,
  CAST(SUM(removed) AS INTEGER) AS removed,
  CAST(SUM(changed) AS INTEGER) AS changed
FROM daily GROUP BY organization, day;
