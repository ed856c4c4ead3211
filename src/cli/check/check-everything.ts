import { isSharedQueue } from '../../address/mirror-address.ts'
import { checkMirror, readStoredPrivacy } from './check-mirror.ts'
import { checkOrganization } from './check-organization.ts'
import { find, type Finding, warning } from './finding.ts'
import { namedConfig } from '../command.ts'
import { count } from '../output/say.ts'
import { isPasswordInFile } from '../../config/addresses.ts'
import { readWebhookSecret } from '../../config/credentials.ts'
import { processEnvironment } from '../../config/environment.ts'
import { chooseOrganizations } from '../../config/organization.ts'
import type { Config } from '../../config/read-config.ts'
import { type BucketPlan, configuredPlans, placeOf, type TargetPlan } from '../../copies/publish-plan.ts'
import { checkTargets } from '../../copies/target-place.ts'

/** Checks everything a sync needs, in the order of use. Continues after a problem if possible. */
export async function* checkEverything(
  ids: readonly string[],
  file: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield { what: 'Node', said: process.versions.node }
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  yield { what: 'configuration', said: `${config.file}, ${count(config.organizations.length, 'organization')}` }
  const mirror = { ...(await checkMirror(config.mirror)), isCommon: true }
  yield mirror
  for (const plan of configuredPlans(config))
    yield find('publish', async () => ({ said: 'to' in plan ? await answerOfBucket(plan) : describeTargets(plan) }))
  yield* checkNotify(config)
  yield* checkQueue(config)
  // A mirror that cannot be used is not read again: a server that does not answer is waited for once.
  const privacy = mirror.error === undefined ? await readStoredPrivacy(config.mirror) : undefined
  for (const organization of organizations) {
    if (signal.aborted) return
    yield* checkOrganization(organization, { stored: privacy?.get(organization.id), config, named: file, signal })
  }
}

function describeTargets(plan: Exclude<TargetPlan, BucketPlan>): string {
  const [first = placeOf(plan), ...others] = checkTargets(plan)
  const more = others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`
  return `${first}${more} can be made`
}

/** One request that changes nothing. The client of object storage is loaded only where it is needed. */
async function answerOfBucket(plan: BucketPlan): Promise<string> {
  const { openS3Store } = await import('../../copies/objects/s3-store.ts')
  const store = openS3Store(plan, processEnvironment())
  try {
    await store.ask()
    return `${placeOf(plan)} answered; what may be written there shows when it is published`
  } finally {
    store.close()
  }
}

/** Where nights will be reported, and whether the secret that signs these reports can be read. Nothing is sent. */
async function* checkNotify({ notify, heartbeat }: Pick<Config, 'notify' | 'heartbeat'>): AsyncGenerator<Finding> {
  if (notify !== undefined) {
    const { url, secret, only } = notify
    const said = `a report of each night${only === 'failures' ? ' with a failure' : ''} to ${url.host}`
    yield find('notify', async () => {
      if (secret === undefined) return { said: `${said}, not signed` }
      await readWebhookSecret(secret)
      return { said: `${said}, signed` }
    })
  }
  // A path may hold a token.
  if (heartbeat !== undefined)
    yield { what: 'heartbeat', said: `a request to ${heartbeat.url.host} after each good night` }
}

/** Whether the queue on a server answers and keeps what it is given, and whether its password is where it belongs. */
async function* checkQueue({ queue }: Pick<Config, 'queue'>): AsyncGenerator<Finding> {
  if (!isSharedQueue(queue)) return
  const what = 'queue'
  if (isPasswordInFile(queue, processEnvironment())) yield { what, ...PASSWORD_IN_FILE }
  const { probeQueue } = await import('../../../jobs/queue/backend.ts')
  let policy: string | undefined
  const answered = await find(what, async () => {
    const { place, dropsKeysBy } = await probeQueue(queue)
    policy = dropsKeysBy
    return { said: `${place} answered` }
  })
  yield { ...answered, isCommon: true }
  if (policy !== undefined) yield { what, ...dropsKeys(policy) }
}

const PASSWORD_IN_FILE = warning(
  'its password stands in the configuration file, for every reader of that file',
  'put the whole address into the environment variable CUSTOMER_MIRROR_QUEUE, and take queue out of the file.',
)

function dropsKeys(policy: string) {
  return warning(
    `its server drops keys when it is full (maxmemory-policy ${policy}): jobs, schedules and pauses may vanish`,
    'set maxmemory-policy to noeviction in the configuration of that server.',
  )
}
