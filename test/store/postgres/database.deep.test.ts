import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { oneStatement, startPostgres } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { openPool } from '../../../src/store/port/postgres-connections.ts'
import { isLost } from '../../../src/store/port/postgres-errors.ts'
import { listenHere } from '../../support/fault-server.ts'
import { aGate, aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'
import { runCli } from '../../support/run-cli.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'

/* What roles other than the owner of a mirror can do to it, on a server of their own. */

test('no command, and no edit by hand, runs anything that another role has made in public', async () => {
  const { url, as, run } = await aServerWith({ search_path: 'public, pg_catalog' })
  await oneStatement(url, HOSTILE_PUBLIC)
  const copy = join(temporaryFolder(), 'copy.csv')

  expect(await run('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('will be made by the first') })
  expect(await run('sync')).toMatchObject({ code: 0 })
  expect(await run('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('sound and writable') })
  for (const args of READING) expect({ args, ...(await run(...args)) }).toMatchObject({ args, code: 0, stderr: '' })
  expect(await run('export', '--format', 'csv', '-o', copy)).toMatchObject({ code: 0 })
  expect(await run('sync', '--dry-run')).toMatchObject({ code: 0 })
  expect(await run('sync', '--quick')).toMatchObject({ code: 0 })
  const released = { code: 0, stdout: expect.stringContaining('released') }
  expect(await run('forget', 'acme', await firstId(run), '--json')).toMatchObject(released)
  expect(await run('organizations', 'rename', 'acme', 'other')).toMatchObject({ code: 0 })
  for (const edit of [`UPDATE ${CUSTOMERS} SET name = 'Ada'`, `DELETE FROM ${CUSTOMERS}`, `TRUNCATE ${CUSTOMERS}`])
    await oneStatement(as('careful'), edit)
})

const CUSTOMERS = 'customer_mirror.customers'

const READING = [
  ['status'],
  ['runs'],
  ['runs', 'show', '1'],
  ['rejects'],
  ['removals', 'list'],
  ['query', '--search', 'a', '--limit', '1'],
  ['sql', 'SELECT name FROM customers WHERE row_id = 1'],
  ['sql', '--tables'],
  ['organizations', 'list'],
]

const HOSTILE_PUBLIC = `
  -- What a role that may create in public can lie in wait with there: under the name of each function, operator, table and type of
  -- PostgreSQL one of its own, which fails with 'lay in wait'. A statement that looks into public first meets them; so does one that
  -- looks into pg_catalog first where its arguments fit these better.
  SET search_path = pg_catalog;
  CREATE FUNCTION public.lay_in_wait() RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'something of another role lay in wait, and ran as %', current_user;
  END $$;

  DO $do$
  DECLARE found record;
  BEGIN
    FOR found IN
      SELECT format('FUNCTION public.%I(%s) RETURNS %s%s LANGUAGE plpgsql AS %L', proname, oidvectortypes(proargtypes),
        CASE WHEN proretset THEN 'SETOF ' ELSE '' END, format_type(prorettype, NULL),
        'BEGIN PERFORM public.lay_in_wait(); END') AS made
      FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
        AND NOT ARRAY['internal', 'cstring', '"any"']::regtype[] && (proargtypes::oid[] || prorettype)::regtype[]
        AND proname NOT LIKE 'binary_upgrade%'
      UNION ALL
      SELECT format('FUNCTION public.%s RETURNS %s LANGUAGE plpgsql AS %L', head, answer, 'BEGIN PERFORM public.lay_in_wait(); END')
      FROM (VALUES ('format(text, name)', 'text'), ('unnest(text[])', 'SETOF text'), ('concat_ws(text, text, text)', 'text'),
        ('has_database_privilege(name, text)', 'boolean'), ('has_table_privilege(oid, text)', 'boolean'),
        ('array_agg(text)', 'text[]'), ('json_build_object(text, text)', 'json')) AS fitting (head, answer)
      UNION ALL
      SELECT format('OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)', oprname, oprleft::regtype,
        oprright::regtype, proname)
      FROM pg_operator JOIN pg_proc ON pg_proc.oid = oprcode WHERE oprkind = 'b' AND oprnamespace = 'pg_catalog'::regnamespace
      UNION ALL
      SELECT format('VIEW public.%I AS SELECT public.lay_in_wait()', relname) FROM pg_class
      WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
      UNION ALL
      SELECT format('TYPE public.%I AS ENUM ()', name)
      FROM unnest(ARRAY['text', 'name', 'oid', 'regtype', 'regclass', 'xid', 'xid8', 'json', 'date', 'bytea']) AS name
    LOOP
      BEGIN
        EXECUTE 'CREATE ' || found.made;
      EXCEPTION WHEN OTHERS THEN
        NULL;  -- Some, such as those of pseudo-types, can only be written in C.
      END;
    END LOOP;
  END $do$;
  RESET search_path;`

test('forget by a role that writes all tables and owns none deletes the rows, and names the owner, who has to finish it', async () => {
  const { url, run } = await aServerWith({})
  await oneStatement(url, 'CREATE SCHEMA customer_mirror')
  await (await openMirror(url)).close()
  await oneStatement(url, WRITER)
  expect(await run('sync')).toMatchObject({ code: 0 })

  const checked = await run('check')
  const forgotten = await run('forget', 'acme', await firstId(run), '--json')

  expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('only their owner can finish forget') })
  expect(forgotten).toMatchObject({
    code: 7,
    stdout: expect.stringContaining('"erased": "failed"'),
    stderr: expect.stringContaining('have mirror run: VACUUM (ANALYZE) customer_mirror.customers, '),
  })
  expect(JSON.parse(forgotten.stdout)).toMatchObject({ deleted: { customers: 1 } })
})

const WRITER = `
  GRANT USAGE ON SCHEMA customer_mirror TO careful;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA customer_mirror TO careful`

async function firstId(run: (...args: string[]) => Promise<{ stdout: string }>): Promise<string> {
  const { stdout } = await run('sql', 'SELECT id FROM customers WHERE row_id = 1', '--csv')
  return /[\da-f]{8}-[-\da-f]{27}/.exec(stdout)?.[0] ?? ''
}

/** A server on which the role of the mirror, no superuser, has these settings; and commands with that mirror. */
async function aServerWith(settings: Readonly<Record<string, string>>) {
  const server = await startPostgres({ isDurable: false })
  onTestFinished(() => server.close())
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [300] })), { defaults: { scan: 'chain' } })
  await oneStatement(server.url, 'CREATE ROLE careful LOGIN; GRANT CREATE ON DATABASE mirrors TO careful')
  for (const [name, value] of Object.entries(settings))
    await oneStatement(server.url, `ALTER ROLE careful SET ${name} = ${value}`)
  const as = (user: string) => Object.assign(new URL(server.url), { username: user }).href
  const run = (...args: string[]) =>
    runCli(args, { cwd: folder, env: { CUSTOMER_MIRROR_MIRROR: as('careful'), COLUMNS: '80' } })
  return { url: server.url, as, run }
}

test('once a program was told to stop, a server that does not answer is waited for no longer than seven seconds', async () => {
  const server = createServer()
  const port = await listenHere(server)
  const stopping = new AbortController()
  const pool = openPool(`postgres://ann@127.0.0.1:${port}/crm?sslmode=disable`, stopping.signal)
  const asked = pool.connect()
  await once(server, 'connection')

  stopping.abort()
  await expect(asked).rejects.toSatisfy(isLost)
  await expect(pool.connect()).rejects.toSatisfy(isLost)
  await pool.end()
})

test('a run that is stopped while a page hangs for longer than that is recorded as interrupted', async () => {
  const server = await startPostgres({ isDurable: false })
  onTestFinished(() => server.close())
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  onTestFinished(() => gate.open())
  const stopping = new AbortController()
  const { run } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { mirror: server.url })
  const ended = run('sync', { signal: stopping.signal })
  await gate.reached

  stopping.abort()

  expect(await ended).toMatchObject({ stdout: expect.stringContaining('interrupted') })
  expect((await run('runs')).stdout).toContain('interrupted')
})
