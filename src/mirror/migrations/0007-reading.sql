-- Tables for those who read the mirror with SQL: nothing internal in them, a type for every column, and their history.

DROP VIEW active_customers;
DROP VIEW freshness;

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
