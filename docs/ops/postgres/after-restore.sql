-- Ends the restore where what was put back is no mirror, or that of another schema, and then nothing is changed.
SET search_path = customer_mirror;
SELECT version FROM customer_mirror.mirror_schema;
-- Numbers of changes and runs go on from the time: readers and copies remember those that were given out after the backup.
SELECT setval(pg_get_serial_sequence('runs', 'id'),
  greatest(nextval(pg_get_serial_sequence('runs', 'id')), extract(epoch FROM now())::bigint));
WITH reached AS (
  SELECT setval(pg_get_serial_sequence('changes', 'seq'),
    greatest(nextval(pg_get_serial_sequence('changes', 'seq')), (extract(epoch FROM now()) * 1000)::bigint)) AS seq
)
INSERT INTO horizons (organization, feed_seq)
SELECT DISTINCT organization, seq FROM runs, reached
ON CONFLICT (organization) DO UPDATE SET feed_seq = excluded.feed_seq;
