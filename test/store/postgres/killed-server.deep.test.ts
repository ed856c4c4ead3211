import { test } from 'vitest'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { seeds } from '../../support/seeds.ts'
import { playKills } from './killed-server.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a server that is killed again and again while it commits loses nothing and doubles nothing',
  async () => {
    const most = seeds(16)
    await playKills(11, ({ kills, continued, resumed }) => kills >= most && continued > 0 && resumed > 0)
  },
)
