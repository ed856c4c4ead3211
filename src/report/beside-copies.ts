import { processEnvironment } from '../config/environment.ts'
import type { Config } from '../config/read-config.ts'
import type { Published } from '../copies/publish-plan.ts'
import { askApart } from '../machine/process-apart.ts'
import { isoOf } from '../time/moments.ts'

/**
 * Writes a page of figures beside each copy that was published, where the configuration asks for it; in a process of its own, since it may read
 * millions of rows. Returns what was published. A page that cannot be written is a warning.
 */
export async function withReports(
  { publish }: Pick<Config, 'publish'>,
  published: Published,
  { signal }: { signal: AbortSignal },
): Promise<Published> {
  const copies = published.copies.map(({ file, publishedAt }) => ({ file, atMs: Date.parse(isoOf(publishedAt)) }))
  if (publish?.report !== true || copies.length === 0 || signal.aborted) return published
  const asked = { env: processEnvironment(), signal }
  const { said, ending } = await askApart('report/process', JSON.stringify(copies), asked)
  const warnings: string[] =
    ending === undefined
      ? JSON.parse(said)
      : [`The page of figures was not written: its process was ended (${ending}).`]
  return { ...published, warnings: [...published.warnings, ...warnings] }
}
