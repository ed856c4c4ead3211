import { lstatSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { CopyFailed, describeError, isOurs } from '../errors/errors.ts'
import { isHiddenBy } from '../privacy/hidden-values.ts'
import { closing, openMirrorToRead } from '../store/mirror.ts'
import { inMirrorFile } from '../store/sqlite/open-to-read.ts'
import { listedNames } from '../text/wording.ts'
import { buildCopy, leftOutOf, MANIFEST, nameOfOlderCopy, tablesOfCopy } from './build-copy.ts'
import { atPlace, copyError } from './copy-error.ts'
import { isOlderCopy, removeTooMany, replaceKeeping } from './older-files.ts'
import { findRecorded, idsOf, isRead, recordedIn } from './organizations.ts'
import type { Published, PublishedCopy, PublishPlan } from './publish-plan.ts'
import {
  type Access,
  accessOf,
  closedAbove,
  type CopyTarget,
  copyTargets,
  prepareFolder,
  requirePublishable,
} from './target-place.ts'
import { beginFile, digestOfFile, writeTextFile } from './written-file.ts'

/** Publishes copies, each of one state of the mirror and replaced as a whole. Throws UsageError before it writes, and MirrorUnusable. */
export function publishCopies(plan: PublishPlan): Published {
  const recorded = inMirrorFile(plan.mirror, recordedIn)
  const targets = copyTargets(plan, idsOf(recorded.filter(isRead)))
  // The group of one organization, who may have left long ago, keeps no copy from the others.
  if (targets.some(({ group }) => group === plan.group)) accessOf(plan)
  for (const { file } of targets) atPlace(file, () => requirePublishable(file, plan.mirror))
  const done: Published = { copies: [], leftOut: [], failed: [], warnings: [] }
  const standing: CopyTarget[] = []
  for (const target of targets)
    try {
      if (plan.only?.includes(target.file) ?? true) {
        const access = accessOf({ ...plan, group: target.group })
        done.copies.push(publishCopy(target, access, plan))
        done.warnings.push(...closedAbove(target.file, access))
      }
      standing.push(target)
    } catch (error) {
      if (!isOurs(error)) throw error
      done.failed.push({ file: target.file, ...describeError(error) })
    }
  for (const [folder, inFolder] of Map.groupBy(standing, ({ file }) => dirname(file)))
    done.warnings.push(...describeCopies(join(folder, 'metadata.json'), inFolder, plan))
  // A list may have been read to its end since.
  const copied = new Set(done.copies.flatMap((copy) => idsOf(copy.organizations)))
  done.leftOut = leftOutOf(recorded, plan.organizations).filter(({ organization }) => !copied.has(organization))
  return done
}

/** Readers that have the copy from before open go on reading it; its second name is taken back where the new copy could not be put there. */
function publishCopy(target: CopyTarget, access: Access, { keep, lockWaitMs, ...plan }: PublishPlan): PublishedCopy {
  const { file, organization } = target
  return atPlace(file, () => {
    prepareFolder(dirname(file), isShared(target, plan) ? { gid: undefined, folderMode: 0o751 } : access)
    const { path, place, close } = beginFile(file, { waitMs: lockWaitMs, ...access })
    try {
      const built = buildCopy(path, { ...plan, organization })
      const digest = digestOfFile(path)
      const kept = keep !== undefined && keep > 0 ? nameOfOlderCopy(file, path) : undefined
      replaceKeeping(file, kept, place)
      if (keep !== undefined) removeTooMany({ file, at: built.publishedAt, replaced: kept, most: keep }, isOlderCopy)
      return { file, ...digest, ...built }
    } finally {
      close()
    }
  })
}

/** Whether the copies of organizations with a group each stand in one folder: all their groups enter it, and none lists it. */
function isShared({ file, group }: CopyTarget, plan: Pick<PublishPlan, 'file' | 'group'>): boolean {
  return group !== plan.group && dirname(file) === dirname(plan.file)
}

/** Writes Datasette's `metadata.json` beside the copies of a folder. Returns a sentence where it cannot be written, or another file has that name. */
function describeCopies(place: string, targets: readonly CopyTarget[], plan: PublishPlan): string[] {
  const described = [...tablesOfCopy(plan), MANIFEST].map(({ name, meaning, columns }) => {
    const meanings = columns.map((each) => {
      return [each.name, sentence(each.personal ? `${each.meaning} (personal data)` : each.meaning)]
    })
    const facets = name === 'active_customers' && { facets: ['organization', 'language'] }
    return [name, { description: sentence(meaning), columns: Object.fromEntries(meanings), ...facets }]
  })
  const database = { tables: { ...Object.fromEntries(described), ...HIDDEN }, queries: QUERIES }
  const metadata = {
    title: 'Customer Mirror',
    description: 'The customers of every organization, as the order-management service lists them.',
    databases: Object.fromEntries(targets.map(({ file }) => [basename(file, extname(file)), database])),
  }
  const text = `${JSON.stringify(metadata, null, 2)}\n`
  try {
    const found = lstatSync(place, { throwIfNoEntry: false })
    // A pipe would be read for ever.
    const held = found?.isFile() === true ? readFileSync(place, 'utf8') : undefined
    if (found !== undefined && held?.startsWith('{\n  "title": "Customer Mirror",') !== true)
      return [`${place}: is not of this program and was left as it is; the copies are not described for Datasette.`]
    // It names the copies of the folder, which is for all who have a group there, or for its owner alone.
    const [first] = targets
    const access = accessOf({ ...plan, group: first && !isShared(first, plan) ? first.group : undefined })
    if (held !== text) writeTextFile(place, text, { ...access, waitMs: plan.lockWaitMs })
    return []
  } catch (error) {
    return [describeError(copyError(error, place)).message]
  }
}

/** The questions that Datasette offers on its first page. None of them shows personal data. */
const QUERIES = {
  growth: {
    title: 'Growth by day',
    sql: 'SELECT organization, day, active, added, removed FROM customers_daily ORDER BY organization, day',
  },
  languages: {
    title: 'Active customers by language',
    sql: 'SELECT organization, language, COUNT(*) AS customers FROM active_customers GROUP BY 1, 2 ORDER BY 1, 3 DESC',
  },
  who_left: {
    title: 'Who left, latest first',
    sql: `SELECT organization, id, changed_at, missing_since FROM changes WHERE change = 'removed' ORDER BY seq DESC`,
  },
}

/** What the view `freshness` of a copy reads, and the last number of a change, which SQLite keeps. */
const HIDDEN = { freshness_as_published: { hidden: true }, sqlite_sequence: { hidden: true } }

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** Throws CopyFailed while the mirror shows what the configuration hides, as after a restore: the next run rewrites it, and readers keep the copy. */
export async function requireHidden({ hidden = {} }: Pick<PublishPlan, 'hidden'>, address: string): Promise<void> {
  if (Object.keys(hidden).length === 0) return
  const policies = await closing(await openMirrorToRead(address), (mirror) => mirror.listPrivacy())
  const shown = Object.entries(hidden).flatMap(([id, wanted]) => {
    const found = policies.find(({ organization }) => organization === id)
    return found === undefined || found.left === 'values' || !isHiddenBy(found.policy, wanted) ? [id] : []
  })
  // Others have no rows in a copy.
  const read = shown.length === 0 ? [] : (await findRecorded(address)).filter(isRead)
  const left = idsOf(read).filter((id) => shown.includes(id))
  if (left.length === 0) return
  throw new CopyFailed(
    `The mirror still holds values that the privacy policy hides, of ${listedNames(left)}. Nothing was published, and the copy from before is ` +
      "unchanged. The next run hides them: 'customer-mirror sync', then publish again.",
    { code: 'unhidden' },
  )
}
