-- What the statements of the tests call by its name in SQLite.
CREATE SCHEMA IF NOT EXISTS sqlite_forms;
CREATE OR REPLACE FUNCTION sqlite_forms.json_each(text, OUT value text) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS
  'SELECT json_array_elements_text($1::json)';
CREATE OR REPLACE FUNCTION sqlite_forms.hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper(encode($1, ''hex''))';
CREATE OR REPLACE FUNCTION sqlite_forms.pragma_table_info(text, OUT name text, OUT type text) RETURNS SETOF record LANGUAGE sql STABLE AS
  'SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
   WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped AND attgenerated = '''' ORDER BY attnum';
CREATE OR REPLACE VIEW sqlite_forms.sqlite_schema AS
  SELECT CASE relkind WHEN 'i' THEN 'index' WHEN 'v' THEN 'view' ELSE 'table' END AS type, relname AS name,
    CASE relkind WHEN 'i' THEN pg_get_indexdef(oid) WHEN 'v' THEN pg_get_viewdef(oid)
      ELSE (SELECT string_agg(name || ' ' || type, ', ') FROM sqlite_forms.pragma_table_info(relname)) END AS sql
  FROM pg_class WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p', 'v', 'i')
  UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE relnamespace = to_regnamespace(current_schema()) AND NOT tgisinternal;
