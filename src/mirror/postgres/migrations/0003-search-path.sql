-- The functions of the triggers find format() and operators in pg_catalog alone. They run with the rights of the role that edits a row:
-- in its search path another role may have put a function of the same name.
ALTER FUNCTION note_edited() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_deleted() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_truncated() SET search_path = pg_catalog, pg_temp;
