/** Rows that were edited without the mirror, or deleted: the next run compares them field by field. */
export const SQLITE_TRIGGERS = `
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN (NEW.last_run_id = OLD.last_run_id OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization))
  AND NEW.is_active IS OLD.is_active AND NOT EXISTS (SELECT 1 FROM unnoticed)
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id), (NEW.organization, NEW.row_id);
END;
CREATE TRIGGER customers_removed AFTER UPDATE OF removed_at ON customers
WHEN NEW.is_active IS NOT (NEW.removed_at IS NULL)
BEGIN
  UPDATE customers SET is_active = (NEW.removed_at IS NULL) WHERE row_id = NEW.row_id;
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers WHEN NOT EXISTS (SELECT 1 FROM unnoticed)
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  DELETE FROM absences WHERE row_id = OLD.row_id AND organization = OLD.organization;
  DELETE FROM held_rows WHERE row_id = OLD.row_id AND organization = OLD.organization;
END;
`

/** The same for PostgreSQL, for all rows of a statement at once. They find names in pg_catalog alone. */
export const POSTGRES_TRIGGERS = String.raw`
-- Rows that were edited without the mirror, or deleted: the next run compares them field by field.
CREATE FUNCTION note_edited() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- By the mirror itself, which changes a whole organization in this transaction.
  IF current_setting('customer_mirror.unnoticed', true) = 'on' THEN RETURN NULL; END IF;
  EXECUTE format(
    'INSERT INTO %1$I.edited_customers (organization, row_id)
     SELECT edited.organization, edited.row_id FROM (
       SELECT old.organization, old.row_id FROM old JOIN new USING (organization, row_id)
         LEFT JOIN %1$I.leases ON leases.organization = new.organization
         WHERE new.last_run_id = old.last_run_id OR new.last_run_id IS DISTINCT FROM leases.run_id
       UNION SELECT organization, row_id FROM old WHERE NOT EXISTS (
         SELECT 1 FROM new WHERE new.organization = old.organization AND new.row_id = old.row_id)
       UNION SELECT organization, row_id FROM new WHERE NOT EXISTS (
         SELECT 1 FROM old WHERE old.organization = new.organization AND old.row_id = new.row_id)
     ) AS edited
     ON CONFLICT (organization, row_id) DO UPDATE SET edit = EXCLUDED.edit', TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
  REFERENCING OLD TABLE AS old NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION note_edited();

CREATE FUNCTION note_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('customer_mirror.unnoticed', true) = 'on' THEN RETURN NULL; END IF;
  EXECUTE format(
    'INSERT INTO %1$I.edited_customers (organization, row_id) SELECT organization, row_id FROM old
     ON CONFLICT (organization, row_id) DO UPDATE SET edit = EXCLUDED.edit', TG_TABLE_SCHEMA);
  EXECUTE format(
    'DELETE FROM %1$I.absences USING old WHERE absences.organization = old.organization AND absences.row_id = old.row_id',
    TG_TABLE_SCHEMA);
  -- Or the approval would one day remove the customer who has the number then.
  EXECUTE format(
    'DELETE FROM %1$I.held_rows USING old
     WHERE held_rows.organization = old.organization AND held_rows.row_id = old.row_id',
    TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
  REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION note_deleted();

-- Row numbers begin at 1 again, so nothing may refer to the rows that were there, and a run under way must not go on.
CREATE FUNCTION note_truncated() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE referring text;
BEGIN
  FOREACH referring IN ARRAY ARRAY['leases', 'lists', 'windows', 'absences', 'held_rows', 'edited_customers'] LOOP
    EXECUTE format('DELETE FROM %I.%I', TG_TABLE_SCHEMA, referring);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER customers_truncated AFTER TRUNCATE ON customers FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
`
