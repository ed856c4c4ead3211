/**
 * Whether this user may VACUUM the table in a row of pg_class with this alias. For a table of another owner the server only warns, and
 * skips it.
 */
export function mayVacuum(table: string): string {
  return `(EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(datdba, 'USAGE'))
    OR CASE WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(${table}.oid, 'MAINTAIN')
      ELSE pg_has_role(${table}.relowner, 'USAGE') END)`
}
