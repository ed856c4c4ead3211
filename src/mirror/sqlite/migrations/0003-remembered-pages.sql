-- Pages that come byte for byte as they came before are not read again.

-- What a page came to when it came last, and which customers it holds. Only of pages whose records all are valid, and only
-- while each of those customers is as that page had it. Internal.
CREATE TABLE remembered_pages (
  organization TEXT NOT NULL,
  start        INTEGER NOT NULL,                   -- position of its first record in the list, from 0
  size         INTEGER NOT NULL,                   -- of the page, as served
  program      TEXT NOT NULL,                      -- version that sorted it: another one may read the same bytes differently
  digest       TEXT NOT NULL,                      -- SHA-256 of the bytes of its records
  row_ids      BLOB NOT NULL,                      -- little-endian int32 a record: its row in customers
  fingerprints BLOB NOT NULL,                      -- little-endian float64 a record
  records      TEXT NOT NULL,                      -- JSON: ids, created_at and warnings, by their place in the page
  PRIMARY KEY (organization, start, size)
);

-- Whoever changes a customer by hand finds it mended by the next run, because every page is read again then.
CREATE TRIGGER customers_edited AFTER UPDATE OF
  row_id, organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc, extra
ON customers WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  DELETE FROM remembered_pages WHERE organization IN (OLD.organization, NEW.organization);
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  DELETE FROM remembered_pages WHERE organization = OLD.organization;
END;

-- The windows of a run, in the order of their positions: they are read in that order, and written next to each other.
ALTER TABLE windows RENAME TO windows_by_page;
CREATE TABLE windows (
  run_id      INTEGER NOT NULL REFERENCES runs (id),
  start       INTEGER NOT NULL,                    -- position of its first record, by the size asked for
  size        INTEGER NOT NULL,                    -- as asked for
  per_page    INTEGER NOT NULL,                    -- as served
  total       INTEGER,
  last_page   INTEGER,
  beyond_end  INTEGER NOT NULL,
  row_ids     BLOB,                                -- little-endian int32 a record: its row in customers, or 0 for a reject;
                                                   -- NULL where the page is remembered
  rejected    TEXT,                                -- JSON array: the ids of its rejects in order, null where unreadable
  PRIMARY KEY (run_id, start, size)
) WITHOUT ROWID;
INSERT INTO windows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected)
SELECT run_id, size * (page - 1), size, per_page, total, last_page, beyond_end, row_ids, rejected FROM windows_by_page;
DROP TABLE windows_by_page;
