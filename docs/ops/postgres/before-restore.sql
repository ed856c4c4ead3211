-- Puts the mirror that is there aside, if there is one. Where its schema has another name, put that in.
SELECT 'ALTER SCHEMA customer_mirror RENAME TO customer_mirror_before' FROM pg_namespace WHERE nspname = 'customer_mirror' \gexec
