import { newcomers } from '../../src/service/scenarios/scenario.ts'
import { runCli } from './run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** A service whose organizations were mirrored, after which one customer of the first came and two of them left. */
export async function afterANight(customers: number[]) {
  const sandbox = await aSandbox({ customers })
  const { folder, mirror } = aWorkplace(organizationsOf(sandbox))
  await runCli(['sync'], { cwd: folder })
  const hand = sandbox.organization('acme')
  const list = [...hand.customers]
  for (const place of [900, 1700]) hand.delete(list[place]?.id ?? '')
  hand.insert(newcomers('new')(list.at(-1)?.created_at ?? ''))
  return { folder, mirror }
}
