import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'
import { z } from 'zod'
import { runCli } from './run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf, type Workplace } from './workplace.ts'

/** A folder with a mirror of two organizations, whose configuration says where to publish it. */
export async function aMirroredWorkplace(publish?: object): Promise<Workplace> {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  expect(await runCli(['sync'], { cwd: place.folder })).toMatchObject({ code: 0 })
  if (publish !== undefined) appendFileSync(place.config, `publish: ${JSON.stringify(publish)}\n`)
  return place
}

/** What `publish --json` prints. */
export const document = z.looseObject({
  schemaVersion: z.literal(1),
  copies: z.array(z.looseObject({ file: z.string(), sha256: z.string(), organizations: z.array(z.looseObject({})) })),
  leftOut: z.array(z.object({ organization: z.string(), reason: z.string() })),
  failed: z.array(z.looseObject({ code: z.string() })),
})
