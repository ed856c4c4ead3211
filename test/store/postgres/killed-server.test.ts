import { test } from 'vitest'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { playKills } from './killed-server.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a server that is killed while it commits loses nothing and doubles nothing',
  async () => {
    await playKills(1, ({ kills }) => kills >= 4)
  },
)
