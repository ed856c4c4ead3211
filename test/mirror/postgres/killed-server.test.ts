import { test } from 'vitest'
import { onPostgres } from '../../support/mirror-choice.ts'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { playKills } from './killed-server.ts'

/** Only a server has processes that can be killed, and to start one takes seconds. */
const hasServer = onPostgres && postgresPrograms() !== undefined

test.skipIf(!hasServer)('a server that is killed while it commits loses nothing and doubles nothing', async () => {
  await playKills(1, ({ kills }) => kills >= 4)
})
