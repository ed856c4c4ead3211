import { existsSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { ConfigError, type Problem } from '../errors/errors.ts'
import { parseText, readText, type Mistake, type Parsed } from './document.ts'
import { processEnvironment, type Environment } from './environment.ts'
import { checkData } from './mistakes.ts'
import { mirrorAddress, queueOfEnvironment } from './addresses.ts'
import { mergeOrganization, type Organization } from './organization.ts'
import { BUILT_IN } from './schema.ts'
import { publishSettings } from './publish.ts'
import { secretReference } from './values.ts'

/** A configuration that is complete and has no mistakes. Paths are absolute. */
export type Config = Awaited<ReturnType<typeof readConfig>>

/**
 * Reads the configuration: the file named, else `CUSTOMER_MIRROR_CONFIG`, else ./customer-mirror.yaml, .yml or .json. Throws one ConfigError
 * with every mistake, in the order of the file. Secrets are not looked up yet. `instead`: what a command takes in place of a configuration.
 */
export async function readConfig(options: {
  file?: string | undefined
  cwd: string
  environment?: Environment | undefined
  instead?: string | undefined
}) {
  const { environment = processEnvironment() } = options
  const location = locateFile(options.file, options.cwd, environment)
  const parsed = parseText(await read(location, options.instead), location.shown)
  const { file, mistakes } = checkData(parsed.data)
  if (file === undefined || mistakes.length > 0) throw new ConfigError(placed(mistakes, parsed, location))
  const folder = dirname(location.path)
  const { notify } = file
  return {
    file: location.path,
    /** The path of a file, or the address of a database, which may hold a password: show it with `shownMirror` only. */
    mirror: mirrorAddress(file.mirror, environment, folder),
    queue: queueOfEnvironment(environment) ?? file.queue,
    jobs: { ...BUILT_IN.jobs, ...file.jobs },
    publish: publishSettings(file.publish, folder),
    notify: notify && { ...notify, secret: notify.secret && secretReference(notify.secret, folder) },
    heartbeat: file.heartbeat,
    serve: file.serve?.readers.map((reader) => ({
      ...reader,
      apiKey: secretReference(reader.apiKey, folder),
      secret: secretReference(reader.secret, folder),
    })),
    organizations: file.organizations.map((own): Organization => mergeOrganization(own, file, folder)),
    /** The file as parsed, before anything is filled in. */
    content: parsed.data,
  }
}

async function read({ path, shown, origin }: ConfigLocation, instead: string | undefined): Promise<string> {
  const content = await readText(path, { maxBytes: 4 * 1024 * 1024 })
  if (content.text !== undefined) return content.text
  const others = instead === undefined ? '' : `, or ${instead}`
  const asNamed = shown === USUAL || !/^[\w/.@:+-]+\.ya?ml$/.test(shown) ? '' : ` ${shown}`
  const advice = `: run 'customer-mirror init${asNamed}' to write one, or name another with --config${others}`
  throw new ConfigError([{ file: shown, message: content.problem + origin + (content.missing ? advice : '') }])
}

function placed(mistakes: readonly Mistake[], { place }: Parsed, { shown }: ConfigLocation): Problem[] {
  // Every organization that inherits a mistake under defaults would report it again.
  const distinct = new Map(mistakes.map((mistake) => [JSON.stringify([mistake.path, mistake.message]), mistake]))
  return [...distinct.values()]
    .map((mistake) => {
      // Keys are free text, so they are shortened, and control characters are removed.
      const path = mistake.path.map((step) => String(step).replaceAll(/\p{C}/gu, '?').slice(0, 64)).join('.')
      return { file: shown, place: place(mistake), path, message: mistake.message }
    })
    .toSorted((a, b) => a.place.line - b.place.line || a.place.col - b.place.col)
}

/** The configuration file to read: its path, its name in messages, and what names it, if that is the environment. */
type ConfigLocation = { path: string; shown: string; origin: string }

const VARIABLE = 'CUSTOMER_MIRROR_CONFIG'
const [USUAL, ...OTHERS] = ['customer-mirror.yaml', 'customer-mirror.yml', 'customer-mirror.json'] as const

function locateFile(file: string | undefined, cwd: string, environment: Environment): ConfigLocation {
  // An empty --config comes from an unset shell variable; silently reading another file would surprise.
  if (file?.trim() === '') throw new ConfigError([{ file: '--config', message: 'is empty: name a configuration file' }])
  const named = environment[VARIABLE]?.trim() === '' ? undefined : environment[VARIABLE]
  const found = [USUAL, ...OTHERS].find((name) => existsSync(resolve(cwd, name)))
  const path = resolve(cwd, file ?? named ?? found ?? USUAL)
  const near = relative(cwd, path)
  return {
    path,
    shown: near === '' || near.startsWith('..') || isAbsolute(near) ? path : near,
    origin: file === undefined && named !== undefined ? ` (named by ${VARIABLE})` : '',
  }
}
