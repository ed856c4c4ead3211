/** Prints what one scan of the property tests did: `node test/support/replay-scan.ts <scenario> <seed>`. */
import { isScenario, SCENARIOS } from './scan-scenarios.ts'

const [scenario = '', seed = ''] = process.argv.slice(2)
if (isScenario(scenario)) console.log(JSON.stringify(SCENARIOS[scenario](Number(seed)), undefined, 2))
else console.log(`Scenarios: ${Object.keys(SCENARIOS).join(', ')}`)
