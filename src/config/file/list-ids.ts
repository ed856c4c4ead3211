import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseText } from './document.ts'
import { processEnvironment } from '../environment.ts'
import { DEFAULT_MIRROR } from '../values/default-mirror.ts'
import { locateFile } from './locate-file.ts'
import { absoluteMirror, mirrorOfEnvironment } from '../values/mirror-place.ts'
import { ORGANIZATION_ID } from '../values/organization-id.ts'
import { readText } from './read-text.ts'
import { valueAt } from '../checks/value-at.ts'

/**
 * The ids of the organizations in the configuration, and the path of its mirror, for a shell that completes a word: fast, since
 * nothing is checked, and without an error, whatever the file is. None where there is no configuration that can be read.
 */
export async function listOrganizationIds({ file, cwd }: { file: string | undefined; cwd: string }): Promise<Listed> {
  try {
    const { path } = await locateFile({ file, cwd, environment: processEnvironment() })
    // A pipe is not opened: what is read from it is gone, and it may never end.
    if (!(await stat(path)).isFile()) return NOTHING
    const content = await readText(path, { maxBytes: MAX_BYTES })
    const parsed = 'text' in content ? parseText(content.text) : { mistakes: [] }
    return 'data' in parsed ? { ids: idsIn(parsed.data), mirror: mirrorIn(parsed.data, dirname(path)) } : NOTHING
  } catch {
    return NOTHING
  }
}

type Listed = { ids: string[]; mirror: string | undefined }

const NOTHING: Listed = { ids: [], mirror: undefined }

const MAX_BYTES = 4 * 1024 * 1024

function idsIn(data: unknown): string[] {
  const organizations = valueAt(data, 'organizations')
  if (!Array.isArray(organizations)) return []
  const ids: unknown[] = organizations.map((organization) => valueAt(organization, 'id'))
  return ids.filter((id) => typeof id === 'string').filter((id) => ORGANIZATION_ID.test(id))
}

function mirrorIn(data: unknown, folder: string): string | undefined {
  const written = valueAt(data, 'mirror')
  const named = mirrorOfEnvironment(processEnvironment()) ?? (written === undefined ? DEFAULT_MIRROR : written)
  return typeof named === 'string' ? absoluteMirror(named, folder) : undefined
}
