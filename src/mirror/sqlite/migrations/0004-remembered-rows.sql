-- Of a page that is remembered only numbers are kept, and who stands at its ends. What was remembered before is forgotten: the
-- next run reads every page record by record.

DROP TRIGGER customers_edited;
DROP TRIGGER customers_deleted;
DROP TABLE remembered_pages;
CREATE TABLE remembered_pages (
  organization TEXT NOT NULL,
  start        INTEGER NOT NULL,                   -- position of its first record in the list, from 0
  size         INTEGER NOT NULL,                   -- of the page, as served
  program      TEXT NOT NULL,                      -- version that sorted it: another one may read the same bytes differently
  digest       TEXT NOT NULL,                      -- SHA-256 of the bytes of its records
  row_ids      BLOB NOT NULL,                      -- little-endian int32 a record: its row in customers
  fingerprints BLOB NOT NULL,                      -- little-endian float64 a record
  outline      TEXT NOT NULL,                      -- JSON: its first and its last row, how its rows compare, oddities by place
  PRIMARY KEY (organization, start, size)
);

-- Since the lease was taken: a run that reads meanwhile relies on no page it recalls from then on.
ALTER TABLE leases ADD COLUMN edits INTEGER NOT NULL DEFAULT 0;

-- Whoever changes a customer by hand finds it mended by the next run, because every page is read again then.
CREATE TRIGGER customers_edited AFTER UPDATE OF
  row_id, organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc, extra
ON customers WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  DELETE FROM remembered_pages WHERE organization IN (OLD.organization, NEW.organization);
  UPDATE leases SET edits = edits + 1 WHERE organization IN (OLD.organization, NEW.organization);
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  DELETE FROM remembered_pages WHERE organization = OLD.organization;
  UPDATE leases SET edits = edits + 1 WHERE organization = OLD.organization;
END;
