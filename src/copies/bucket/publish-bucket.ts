import pLimit from 'p-limit'
import type { Environment } from '../../config/environment.ts'
import { CopyFailed, factsOf, isOurs } from '../../errors/errors.ts'
import { isoOf } from '../../time/moments.ts'
import { manifestText } from '../object-manifest.ts'
import { nowIn, type OpenedToRead, openToRead } from '../open-to-read.ts'
import type { BucketPlan, Published } from '../publish-plan.ts'
import {
  type BucketManifest,
  generationOf,
  MANIFEST,
  type ManifestContent,
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

/** Undefined where it must be begun anew, because something changed there meanwhile. What was written for nothing is removed by the next publish. */
async function publishOnce(plan: BucketPlan, store: ObjectStore, opened: OpenedToRead): Promise<Published | undefined> {
  const found = await readBucketManifest(store)
  const { keys, warnings } = await listObjects(store)
  const before = stillThere(found.content, keys)
  const generation =
    Math.max(found.content?.generation ?? 0, ...[...(keys ?? [])].map((key) => generationOf(key) ?? 0)) + 1
  const chosen = await chooseEntries(plan, { store, opened, before, generation })
  if (chosen === undefined) return undefined
  const content = contentOf(plan, chosen, { before, generation, writtenAt: isoOf(nowIn(opened.db)) })
  const isSame = before !== undefined && chosen.made.size === 0 && saysTheSame(before, content)
  const there = isSame ? keys : keys && new Set(await store.list(OBJECTS))
  // Another process that published has removed them, or the service did not keep them.
  if (there !== undefined && content.organizations.some(({ object }) => !there.has(object))) return undefined
  if (!isSame && !(await store.replaceText(MANIFEST, manifestText(content), found.version))) return undefined
  const manifest = isSame ? before : content
  const named = namesOf(manifest)
  const over = [...(there ?? [])].filter((key) => isOver(key, manifest) && !named.has(key))
  const swept = isSame && over.length === 0 ? NOTHING_LEFT : await sweep(store, manifest, over)
  const bucket = describe(store, manifest, { chosen, before, isNew: !isSame, isLeft: swept.isLeft })
  const { leftOut, failed } = chosen
  return { copies: [], leftOut, failed, warnings: [...warnings, ...swept.warnings], bucket }
}

/** The keys of all objects; without the right to list them, the manifest is believed. */
async function listObjects(store: ObjectStore): Promise<{ keys: Set<string> | undefined; warnings: string[] }> {
  try {
    return { keys: new Set(await store.list(OBJECTS)), warnings: [] }
  } catch (error) {
    if (!isOurs(error) || factsOf(error).again !== 'never') throw error
    const warning = `${store.shown}: the objects there cannot be listed, so those that no manifest names stay. ${error.message}`
    return { keys: undefined, warnings: [warning] }
  }
}

/** The manifest without the objects that are gone, which a rule of the bucket or a person deleted: they are made again. */
function stillThere(
  content: BucketManifest | undefined,
  keys: ReadonlySet<string> | undefined,
): BucketManifest | undefined {
  if (content === undefined || keys === undefined) return content
  const { organizations, replaced } = content
  return {
    ...content,
    organizations: organizations.filter(({ object }) => keys.has(object)),
    replaced: replaced.filter(({ object }) => keys.has(object)),
  }
}

/**
 * Objects that the new manifest does not name stay for readers that began with one before, until that is a while ago; not those of
 * an organization that is gone, nor those with personal data where there is to be none.
 */
function contentOf(
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

/** `isLeft`: something is there still that a later publish may remove. */
type Swept = { warnings: string[]; isLeft: boolean }

const NOTHING_LEFT: Swept = { warnings: [], isLeft: false }

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

/**
 * Removes objects that the manifest, which is in its place, does not name: those that it has replaced, and what was left by a process that was
 * killed. Uploads that were not ended go too. What cannot be removed is a warning.
 */
async function sweep(store: ObjectStore, manifest: ManifestContent, left: readonly string[]): Promise<Swept> {
  const limit = pLimit(8)
  try {
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
