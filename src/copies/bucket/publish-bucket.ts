import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import type { Environment } from '../../config/environment.ts'
import { CopyFailed, factsOf, isOurs } from '../../errors/errors.ts'
import { isoOf } from '../../time/iso-time.ts'
import { nowIn, type OpenedToRead, openToRead } from '../open-to-read.ts'
import type { BucketPlan, Published } from '../publish-plan.ts'
import {
  type BucketManifest,
  type FoundManifest,
  generationOf,
  MANIFEST,
  type ManifestContent,
  manifestText,
  readBucketManifest,
} from './bucket-manifest.ts'
import { chooseEntries, type Chosen } from './choose-entries.ts'
import { OBJECTS, type ObjectStore, openS3Store } from './s3-store.ts'

/** How often it is begun anew because something changed there meanwhile. */
const ATTEMPTS = 5

/** What it means where that does not end. */
const ALL_THE_TIME =
  'what is there changed at each of five attempts. Other processes may publish there, a rule of the bucket or a program may remove objects, so ' +
  'that objects that were just written are not there, or a proxy on the way may leave out or change the ETag of an answer. What was published ' +
  'before is unchanged. Let one mirror publish to a prefix, and let AWS_ENDPOINT_URL_S3 name the service itself.'

/** Publishes into the bucket of a plan, with the credentials of the environment. Throws as publishToBucket does. */
export async function publishBucket(plan: BucketPlan, environment: Environment): Promise<Published> {
  const store = openS3Store(plan, environment)
  try {
    return await publishToBucket(plan, store)
  } finally {
    store.close()
  }
}

/**
 * Publishes the customers of each organization as an object, and then the manifest that names them all: a reader that begins with the
 * manifest finds the set from before or the new one, whenever this process ends. Throws UsageError for a prefix with a manifest of another program,
 * CopyFailed for what the service refuses or cannot do, and MirrorUnusable.
 */
export async function publishToBucket(plan: BucketPlan, store: ObjectStore): Promise<Published> {
  const opened = openToRead(plan.mirror, { asMade: true })
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const published = await publishOnce(plan, store, opened)
      if (published !== undefined) return published
    }
    throw new CopyFailed(`${store.shown}: ${ALL_THE_TIME}`, { code: 'busy' })
  } finally {
    opened.close()
  }
}

/** Undefined where it must be begun anew, because something changed there meanwhile. */
async function publishOnce(plan: BucketPlan, store: ObjectStore, opened: OpenedToRead): Promise<Published | undefined> {
  const found = await readBucketManifest(store)
  const { keys, warnings } = await listObjects(store)
  const before = await stillThere(found, store, keys)
  const generation = Math.max(found.content?.generation ?? 0, ...(keys ?? []).map((key) => generationOf(key) ?? 0)) + 1
  const written: string[] = []
  try {
    const chosen = await chooseEntries(plan, { store, opened, before, generation, written })
    if (chosen === undefined) return await giveUp(store, written)
    const content = manifestOf(plan, chosen, { before, generation, writtenAt: isoOf(nowIn(opened.db)) })
    const done = (manifest: ManifestContent, isNew: boolean, left: Swept): Published => {
      const { leftOut, failed } = chosen
      const bucket = describe(store, manifest, { chosen, before, isNew, isLeft: left.isLeft })
      return { copies: [], leftOut, failed, warnings: [...warnings, ...left.warnings], bucket }
    }
    if (before !== undefined && written.length === 0 && saysTheSame(before, content)) {
      const isAnyLeft = keys?.some((key) => isOver(key, before) && !namesOf(before).has(key)) === true
      return done(before, false, isAnyLeft ? await sweep(store, before, keys) : NOTHING_LEFT)
    }
    const there = keys && (await store.list(OBJECTS))
    if (there !== undefined && (await missingAmong(content.organizations, store, there)).size > 0)
      return await giveUp(store, written)
    if (!(await store.replaceText(MANIFEST, manifestText(content), found.version))) return await giveUp(store, written)
    // What was written stays: it is not known which of two manifests is there in the end.
    if (await wasOvertaken(store, content, { found, keys })) return undefined
    return done(content, true, there === undefined ? NOTHING_LEFT : await sweep(store, content, there))
  } catch (error) {
    // Where the service does not answer, it would not remove them either.
    if (factsOf(error).again === 'never') await giveUp(store, written)
    throw error
  }
}

/** The keys of all objects; without the right to list them, the manifest is believed. */
async function listObjects(store: ObjectStore): Promise<{ keys: string[] | undefined; warnings: string[] }> {
  try {
    return { keys: await store.list(OBJECTS), warnings: [] }
  } catch (error) {
    if (!isOurs(error) || factsOf(error).again !== 'never') throw error
    const warning = `${store.shown}: the objects there cannot be listed, so those that no manifest names stay. ${error.message}`
    return { keys: undefined, warnings: [warning] }
  }
}

/** The manifest without the objects that are gone, which a rule of the bucket or a person deleted: they are made again. */
async function stillThere(
  { content }: FoundManifest,
  store: ObjectStore,
  keys: readonly string[] | undefined,
): Promise<BucketManifest | undefined> {
  if (content === undefined || keys === undefined) return content
  const { organizations, replaced } = content
  const missing = await missingAmong([...organizations, ...replaced], store, keys)
  return {
    ...content,
    organizations: organizations.filter(({ object }) => !missing.has(object)),
    replaced: replaced.filter(({ object }) => !missing.has(object)),
  }
}

/** Which of these objects are not there. One that is not listed is asked for: some services list what they take only later. */
async function missingAmong(
  objects: readonly { object: string; bytes?: number }[],
  store: ObjectStore,
  keys: readonly string[],
): Promise<Set<string>> {
  const listed = new Set(keys)
  const missing = new Set<string>()
  for (const { object, bytes } of objects)
    if (!listed.has(object) && !(await store.has(object, bytes))) missing.add(object)
  return missing
}

/**
 * Objects that the new manifest does not name stay for readers that began with one before, until that is a while ago; not those of
 * an organization that is gone, nor those with personal data where there is to be none.
 */
function manifestOf(
  { withoutPersonalData, graceMs }: BucketPlan,
  { entries }: Chosen,
  { before, generation, writtenAt }: { before: BucketManifest | undefined; generation: number; writtenAt: string },
): ManifestContent {
  const named = new Set(entries.map(({ object }) => object))
  const organizations = new Set(entries.map(({ organization }) => organization))
  const folders = new Set(entries.map(({ object }) => folderOf(object)))
  const stay = before?.without_personal_data === withoutPersonalData ? before : undefined
  const replacedNow = (stay?.organizations ?? [])
    .filter(({ organization }) => organizations.has(organization))
    .map(({ object }) => ({ object, since: writtenAt }))
  const isRecent = (since: string) => Math.abs(Date.parse(writtenAt) - Date.parse(since)) < graceMs
  const earlier = (stay?.replaced ?? []).filter(({ object, since }) => isRecent(since) && folders.has(folderOf(object)))
  return {
    generation,
    written_at: writtenAt,
    without_personal_data: withoutPersonalData,
    organizations: entries,
    replaced: [...earlier, ...replacedNow].filter(({ object }) => !named.has(object)),
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'))
}

/** Whether a manifest says the same as the one that is there, but for its number and its time. */
function saysTheSame(before: BucketManifest, now: ManifestContent): boolean {
  const facts = ({ without_personal_data, organizations, replaced }: ManifestContent) =>
    JSON.stringify([without_personal_data, organizations, replaced])
  return facts(before) === facts(now)
}

/**
 * Whether another process published at the same time as this one, whose manifest is just written. A service without conditions takes two at
 * once: then the other one is in the place of this one, or its sweep has removed what this one names. A manifest from before comes from a cache,
 * and shows nothing.
 */
async function wasOvertaken(
  store: ObjectStore,
  written: ManifestContent,
  { found, keys }: { found: FoundManifest; keys: readonly string[] | undefined },
): Promise<boolean> {
  try {
    const { content, version } = await readBucketManifest(store)
    const objects = ({ organizations }: ManifestContent) => organizations.map(({ object }) => object)
    const isAnother = content !== undefined && !isDeepStrictEqual(objects(content), objects(written))
    if (isAnother && version !== found.version) return true
    return keys !== undefined && (await missingAmong(written.organizations, store, await store.list(OBJECTS))).size > 0
  } catch {
    // It is published, whatever a look at it meets.
    return false
  }
}

/**
 * Removes what no manifest will name; the next publish does it where this one cannot. A service may have written the manifest and refused it
 * all the same, and another process may have gone on from there: what the manifest names now stays.
 */
async function giveUp(store: ObjectStore, written: readonly string[]): Promise<undefined> {
  try {
    const named = namesOf((await readBucketManifest(store)).content)
    for (const key of written) if (!named.has(key)) await store.remove(key)
  } catch {
    // The reason to give up is the one to report.
  }
  return undefined
}

type Describing = { chosen: Chosen; before: BucketManifest | undefined; isNew: boolean; isLeft: boolean }

function describe(
  { shown }: ObjectStore,
  { generation, written_at, organizations, replaced }: ManifestContent,
  { chosen, before, isNew, isLeft }: Describing,
): Published['bucket'] {
  const there = new Set(chosen.entries.map(({ organization }) => organization))
  const gone = (before?.organizations ?? []).map(({ organization }) => organization).filter((id) => !there.has(id))
  const described = organizations.map(({ organization, read_as_of: readAsOf, rows: customers, ...entry }) => {
    const { object, run, proof, active, bytes, sha256 } = entry
    const isMade = chosen.made.has(organization)
    return { organization, object, isNew: isMade, run, proof, readAsOf, customers, active, bytes, sha256 }
  })
  const facts = { to: shown, generation, writtenAt: written_at, isNew, organizations: described }
  return { ...facts, gone, replaced: replaced.length, isLeft }
}

/** `isLeft`: something is there still that may be removed a while later. */
type Swept = { warnings: string[]; isLeft: boolean }

const NOTHING_LEFT: Swept = { warnings: [], isLeft: false }

/**
 * Removes those of these objects of this and earlier generations that the manifest, which is in its place, does not name: those that it
 * has replaced, and what was left by a process that was killed. Uploads that were not ended go too. A process that publishes at the
 * same time finds the new manifest and begins anew. What cannot be removed is a warning.
 */
async function sweep(store: ObjectStore, manifest: ManifestContent, keys: readonly string[] = []): Promise<Swept> {
  const named = namesOf(manifest)
  const limit = pLimit(8)
  try {
    const left = keys.filter((key) => isOver(key, manifest) && !named.has(key))
    await limit.map(left, (key) => store.remove(key))
    // Also one of an object that is named: it is there already, by another upload of the same.
    const over = (await store.listUnfinished(OBJECTS)).filter(({ key }) => isOver(key, manifest))
    await limit.map(over, (upload) => store.abandon(upload))
    return NOTHING_LEFT
  } catch (error) {
    if (!isOurs(error)) throw error
    const warning = `${store.shown}: it is published, but objects from before could not be removed. ${error.message}`
    return { warnings: [warning], isLeft: factsOf(error).again !== 'never' }
  }
}

/** Whether a key is that of an object of this or an earlier generation. */
function isOver(key: string, { generation }: ManifestContent): boolean {
  return (generationOf(key) ?? Infinity) <= generation
}

/** The keys that a manifest names, those for readers of earlier ones included. */
function namesOf(manifest: ManifestContent | undefined): Set<string> {
  return new Set([...(manifest?.organizations ?? []), ...(manifest?.replaced ?? [])].map(({ object }) => object))
}
