-- The roles of a mirror in PostgreSQL: `mirror` owns it and runs the worker, `analyst` reads what readers need. Once, by an administrator, in the
-- database of the mirror and before the first sync; passwords with \password in psql, or another way of pg_hba.conf.
CREATE ROLE mirror LOGIN;
CREATE ROLE analyst LOGIN;
CREATE SCHEMA customer_mirror AUTHORIZATION mirror;
GRANT USAGE ON SCHEMA customer_mirror TO analyst;
-- A statement of the documents finds the tables without their schema, and a time in it is UTC, whatever machine the reader has.
ALTER ROLE analyst SET search_path = customer_mirror;
ALTER ROLE analyst SET TimeZone = 'UTC';
-- Every table and view that the mirror makes there, also in later versions. Take back what no reader needs after the first sync:
-- SET search_path = customer_mirror; REVOKE SELECT ON fingerprint_key, forgotten_keys, forgotten, privacy_policies FROM analyst;
ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON TABLES TO analyst;
-- The numbers that changes were given: `export --changes-since` goes on where the organization of the last ones was forgotten.
ALTER DEFAULT PRIVILEGES FOR ROLE mirror IN SCHEMA customer_mirror GRANT SELECT ON SEQUENCES TO analyst;
