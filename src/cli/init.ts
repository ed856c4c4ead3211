import { configOption, linesOf, say } from './output/print.ts'
import { bareCommand, type Io } from './command.ts'
import { closeSync, lstatSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { atPlace } from '../copies/copy-error.ts'
import { UsageError } from '../errors/errors.ts'
import { makeFolder } from '../machine/folders.ts'

export function initCommand({ stderr }: Io) {
  return bareCommand('init', { init: '', 'init config/customers.yaml': '' })
    .argument('[file]', 'where to write it', 'customer-mirror.yaml')
    .action(async (file) => {
      if (!/\.ya?ml$/i.test(file))
        throw new UsageError(`cannot write ${file}: the file is YAML, so choose a name ending in .yaml`)
      // Throws where the folder of this command is no longer there, as in every command.
      const path = resolve(file)
      atPlace(`cannot write ${file}`, () => {
        if (lstatSync(path, { throwIfNoEntry: false })) throw new UsageError(`cannot write ${file}: ${EXISTS}`)
        makeFolder(dirname(path))
        const descriptor = openSync(path, 'wx', 0o600)
        try {
          writeFileSync(descriptor, STARTER)
        } catch (error) {
          rmSync(path)
          throw error
        } finally {
          closeSync(descriptor)
        }
      })
      const option = configOption(file === 'customer-mirror.yaml' ? undefined : file)
      const steps = [`Put the address of your organization into ${file}.`, 'export ACME_API_KEY=… ACME_SECRET=…']
      const lines = [...steps, `customer-mirror check${option}`].map((step, index) => `  ${index + 1}. ${step}`)
      say(stderr, linesOf([`Wrote ${file}. Next:`, ...lines]))
    })
}

const EXISTS = 'it exists already, and init never overwrites; edit it, or name another file'

/** A valid configuration. Commented lines show the default value, or an example. */
const STARTER = `# Customer Mirror configuration. Paths are relative to the folder of this file.
# Completion in an editor: customer-mirror schema > customer-mirror.schema.json, then keep the next line.
# yaml-language-server: $schema=./customer-mirror.schema.json

# The SQLite file that holds the customers, or a database, which several machines may use: postgres://user@host/database
mirror: ./data/customers.db

# For the worker alone; a cron line or a systemd timer that runs 'customer-mirror sync' needs neither schedule nor queue.
# The queue may be redis://, postgres://, or embedded for one worker with no server.
# schedule: { cron: "0 2 * * *", timezone: Europe/Paris }
# queue: redis://127.0.0.1:6379

# A copy of the mirror that analysts and BI tools may open, made anew after each night: customer-mirror publish --help
# publish: { file: ./copies/customers.db, group: analysts, keep: 7 }

# A report of each night, sent by the worker and signed, and an address to request after each night that went well.
# notify: { url: https://hooks.example.com/customer-mirror, secret: { env: NOTIFY_SECRET } }
# heartbeat: { url: https://hc-ping.com/00000000-0000-0000-0000-000000000000 }

# Settings for every organization; each organization may set its own. customer-mirror schema has all of them.
# defaults:
#   maxWait: 15m              # how long a run may go without a successful answer
#   removals: { maxShare: 0.1 }   # if more than this share is absent at once, their removal waits for you
#   rateLimit: { requestsPerMinute: 600 }   # send no more requests than this (default: no limit of our own)
#   signing: { preset: method-target-ts-body-lf }
#   privacy: { drop: [address] }  # fields that are not stored

organizations:
  - id: acme                  # its name in commands and tables
    baseUrl: https://acme.orders.example.com/api/v1
    # Secrets are never written here: name an environment variable, or a file as { file: /run/secrets/acme }.
    apiKey: { env: ACME_API_KEY }
    secret: { env: ACME_SECRET }
`

export function schemaCommand({ stdout }: Io) {
  return bareCommand('schema', {
    'schema > customer-mirror.schema.json': '',
    "schema | jq '.properties | keys'": '',
  }).action(async () => {
    const { configJsonSchema } = await import('../config/schema.ts')
    stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
  })
}
