import { factsOf, isOurs } from '../../../errors/errors.ts'
import pLimit from 'p-limit'
import type { BucketManifest } from './bucket-manifest.ts'
import { generationOf, OBJECTS } from './object-keys.ts'
import type { ObjectStore } from './object-store.ts'

/** Objects that are removed at a time. */
const AT_ONCE = 8

/**
 * Removes those of these objects of this and earlier generations that the manifest, which is in its place, does not name: those that it
 * has replaced, and what was left by a process that was killed. Uploads that were not ended go too. A process that publishes at the
 * same time finds the new manifest and begins anew. What cannot be removed is a warning.
 */
export async function sweep(store: ObjectStore, manifest: Naming, keys: readonly string[]): Promise<Swept> {
  const isLeft = leftBy(manifest)
  const limit = pLimit(AT_ONCE)
  try {
    await Promise.all(keys.filter(isLeft).map((key) => limit(() => store.remove(key))))
    const unfinished = await store.listUnfinished(OBJECTS)
    // Also one of an object that is named: it is there already, by another upload of the same.
    const over = unfinished.filter(({ key }) => isOver(key, manifest))
    await Promise.all(over.map((upload) => limit(() => store.abandon(upload))))
    return NOTHING_LEFT
  } catch (error) {
    if (!isOurs(error)) throw error
    const warning = `${store.shown}: it is published, but objects from before could not be removed. ${error.message}`
    return { warnings: [warning], isLeft: factsOf(error).again !== 'never' }
  }
}

/** `isLeft`: something is there still that may be removed a while later. */
export type Swept = { warnings: string[]; isLeft: boolean }

export const NOTHING_LEFT: Swept = { warnings: [], isLeft: false }

type Naming = Pick<BucketManifest, 'generation' | 'organizations' | 'replaced'>

/** Whether a key is that of an object of this or an earlier generation that the manifest does not name. */
export function leftBy(manifest: Naming): (key: string) => boolean {
  const named = namesOf(manifest)
  return (key) => isOver(key, manifest) && !named.has(key)
}

/** Whether a key is that of an object of this or an earlier generation. */
function isOver(key: string, { generation }: Naming): boolean {
  return (generationOf(key) ?? Infinity) <= generation
}

/** The keys that a manifest names, those for readers of earlier ones included. */
export function namesOf(manifest: Naming | undefined): Set<string> {
  return new Set([...(manifest?.organizations ?? []), ...(manifest?.replaced ?? [])].map(({ object }) => object))
}
