import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { atRest } from './members.ts'
import type { Dataset, Measurement } from './messages.ts'
import type { GroupResult } from './results.ts'
import { runToEnd } from './run-to-end.ts'
import type { Stage } from './stage.ts'

/** How long short commands take from the outside, beside Node itself doing nothing. */
export async function measureStartup(
  stage: Stage,
  { folder, dataset, runs }: { folder: string; dataset: Dataset; runs: number },
): Promise<GroupResult> {
  const program = fileURLToPath(new URL('../src/cli/customer-mirror.mjs', import.meta.url))
  const workplace = await makeWorkplace(folder, await stage.yesterdaysFile(atRest('at rest', dataset)))
  const node = { name: 'node, nothing to do', floors: [], args: ['-e', ''] }
  const floors = [[node.name]]
  const rows = [
    { name: '--help', floors, args: [program, '--help'] },
    { name: 'status', floors, args: [program, 'status'] },
    node,
  ].map((row) => ({ ...row, measurements: new Array<Measurement>() }))

  for (let round = 0; round <= runs; round += 1) {
    for (const { name, args, measurements } of rows) {
      const { code, stderr, wallMs } = await runToEnd([process.execPath, ...args], {
        cwd: workplace,
        env: { CUSTOMER_MIRROR_CONFIG: '' },
      })
      if (code !== 0) throw new Error(`"${name}" ended with ${code}: ${stderr}`)
      // The first round fills the caches of the system, and is left out.
      if (round > 0) measurements.push({ wallMs })
    }
  }
  return { name: 'startup', about: `short commands; the mirror holds ${dataset.customers} customers`, rows }
}

async function makeWorkplace(folder: string, mirror: string): Promise<string> {
  const workplace = join(folder, 'workplace')
  await mkdir(workplace, { recursive: true })
  await copyFile(mirror, join(workplace, 'customers.db'))
  const organization = {
    ...{ id: 'org-1', baseUrl: 'http://127.0.0.1:9/api/v1' },
    ...{ apiKey: 'made-up-key', secret: 'made-up-secret' },
  }
  const config = { mirror: './customers.db', organizations: [organization] }
  await writeFile(join(workplace, 'customer-mirror.yaml'), stringify(config))
  return workplace
}
