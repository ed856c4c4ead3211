import type { Certificate } from '../../src/scan/certificate.ts'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { dice } from './dice.ts'
import { drive } from './drive-scan.ts'
import { BERLIN, LocalTimeList, LORD_HOWE } from './local-time-list.ts'

const STEPS_SECONDS = [10, 40, 90, 300, 3600]

/** Scans of lists of local times that change meanwhile: a seed decides everything. */
export function* playLocalTimes(count: number): Generator<{ seed: number; certificate: Certificate; lost: number }> {
  for (let seed = 1; seed <= count; seed += 1) {
    const luck = dice(seed)
    const stepSeconds = STEPS_SECONDS[luck.below(STEPS_SECONDS.length)] ?? 60
    const size = 150 + luck.below(900)
    const local = new LocalTimeList(luck, { size, stepSeconds, clocks: luck.chance(0.8) ? BERLIN : LORD_HOWE })
    const churn = luck.next() ** 2 * 0.6
    const between = () => {
      if (luck.chance(churn)) local.list.insert()
      if (luck.chance(churn)) local.list.delete()
      if (luck.chance(churn / 20)) local.list.delete(1 + luck.below(120))
    }
    const scan = chainScan()
    const service = { answer: local.answer.bind(local), between }
    const { ids } = drive(scan, service, { dice: luck, parallel: 1 + luck.below(6) })
    yield { seed, certificate: scan.certificate(), lost: local.list.survivors().filter((id) => !ids.has(id)).length }
  }
}
