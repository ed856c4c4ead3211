import type { Config } from '../config/read-config.ts'
import type { Mirror } from '../store.ts'

/**
 * Opens the mirror of a configuration to change it, and closes it again after `work`. Throws MirrorUnusable where there is none yet: none is
 * made for what cannot be in it.
 */
export async function withMirrorToChange<Result>(
  { mirror: file }: Pick<Config, 'mirror'>,
  work: (mirror: Mirror) => Promise<Result>,
): Promise<Result> {
  const { openMirror, openMirrorToRead } = await import('../mirror/mirror.ts')
  await (await openMirrorToRead(file)).close()
  const mirror = await openMirror(file)
  try {
    return await work(mirror)
  } finally {
    await mirror.close()
  }
}
