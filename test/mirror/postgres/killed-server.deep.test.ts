import { expect, test } from 'vitest'
import { postgresPrograms } from '../../support/postgres/server.ts'
import { seeds } from '../../support/seeds.ts'
import { playKills } from './killed-server.ts'

test.skipIf(postgresPrograms() === undefined).each([11, 12])(
  'a server that is killed again and again while it commits loses nothing and doubles nothing (seed %d)',
  async (seed) => {
    const kills = seeds(40)
    const { continued, resumed, ...played } = await playKills(seed, kills)

    expect(played.kills).toBe(kills)
    expect(continued).toBeGreaterThan(0)
    expect(resumed).toBeGreaterThan(0)
  },
)
