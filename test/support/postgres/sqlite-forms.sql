-- What the statements of the tests call by its name in SQLite.
CREATE SCHEMA IF NOT EXISTS sqlite_forms;
CREATE OR REPLACE FUNCTION sqlite_forms.json_each(text, OUT value text) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS
  'SELECT json_array_elements_text($1::json)';
CREATE OR REPLACE FUNCTION sqlite_forms.hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper(encode($1, ''hex''))';
CREATE OR REPLACE FUNCTION sqlite_forms.randomblob(int) RETURNS bytea LANGUAGE sql VOLATILE AS
  'SELECT decode(string_agg(lpad(to_hex((random() * 255)::int), 2, ''0''), ''''), ''hex'') FROM generate_series(1, $1)';
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
CREATE OR REPLACE FUNCTION sqlite_forms.zeroblob(int) RETURNS bytea LANGUAGE sql IMMUTABLE AS
  'SELECT decode(repeat(''00'', $1), ''hex'')';
CREATE OR REPLACE FUNCTION sqlite_forms.max(anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
  'SELECT greatest($1, $2)';
CREATE OR REPLACE FUNCTION sqlite_forms.min(anycompatible, anycompatible, anycompatible, anycompatible) RETURNS anycompatible
  LANGUAGE sql IMMUTABLE AS 'SELECT least($1, $2, $3, $4)';
CREATE OR REPLACE FUNCTION sqlite_forms.joined(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT concat_ws('','', $1, $2)';
CREATE OR REPLACE AGGREGATE sqlite_forms.group_concat(text) (sfunc = sqlite_forms.joined, stype = text);
