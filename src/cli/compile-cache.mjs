import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Where what was compiled is kept for the next start. A checkout keeps it among its own files. An installed program may belong to
 * root, so each user keeps it in the cache folder of that user; undefined for a user who has none.
 */
export function compileCacheFolder({ isInstalled, platform = process.platform, env = process.env }) {
  if (!isInstalled) return fileURLToPath(new URL('../../node_modules/.cache/customer-mirror', import.meta.url))
  const named = platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME
  // A relative folder would be another one for every folder in which the program is started.
  if (named !== undefined && isAbsolute(named)) return join(named, 'customer-mirror')
  try {
    const home = homedir()
    if (!isAbsolute(home)) return undefined
    return join(home, ...(platform === 'darwin' ? ['Library', 'Caches'] : ['.cache']), 'customer-mirror')
  } catch {
    // The system knows no home for this user.
    return undefined
  }
}
