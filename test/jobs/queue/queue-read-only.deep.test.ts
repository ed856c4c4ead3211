import { PGlite } from '@electric-sql/pglite'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { prepareQueue, someQueues } from '../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

/** The session of an embedded PostgreSQL cannot be made read-only from outside, so its table says what a server would. */
const READ_ONLY = `
  CREATE FUNCTION bullmq.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'cannot execute % in a read-only transaction', TG_OP USING ERRCODE = '25006'; END $$;
  CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON bullmq.meta EXECUTE FUNCTION bullmq.refuse();`

test('a read-only PostgreSQL is reported with the reason and the fix', async () => {
  const folder = aQueueFolder()
  await alter(folder, READ_ONLY)

  const failure: unknown = await someQueues('embedded', join(folder, 'customers.db')).catch((error: unknown) => error)

  expect(failure).toMatchObject({
    code: 'queue',
    message: expect.stringContaining(
      `The queue at ${join(folder, 'queue')} cannot be used: cannot execute INSERT in a read-only transaction. Start that`,
    ),
  })
  await alter(folder, 'DROP FUNCTION bullmq.refuse CASCADE')
  const { backend } = await someQueues('embedded', join(folder, 'customers.db'))
  await backend.write()
})

function aQueueFolder(): string {
  const folder = temporaryFolder()
  prepareQueue(join(folder, 'queue'))
  return folder
}

async function alter(folder: string, sql: string): Promise<void> {
  const database = await PGlite.create(join(folder, 'queue', 'postgres'))
  await database.exec(sql)
  await database.close()
}
