import { configuredPlans, publishApart } from '../copies/publish-plan.ts'
import { UsageError } from '../errors/errors.ts'
import { withReports } from '../report/beside-copies.ts'
import { command, JSON_OPTION, namedConfig, namedFile } from './command.ts'
import type { Io } from './io.ts'
import { copyExitCode, failedText, publishedText } from './output/advice.ts'
import { say, jsonDocument, print } from './output/say.ts'

/** `customer-mirror publish`: makes the copy for readers now. */
export function publishCommand(io: Io) {
  return command('publish', EXAMPLES)
    .argument('[file]', 'the copy, in a folder of its own; or a place in object storage')
    .option(...JSON_OPTION)
    .action(async (file, { config: configFile, json }) => {
      const config = await namedConfig(configFile)
      // A place in object storage is read with the plan.
      const named = file === undefined || /^s3:/i.test(file) ? file : namedFile(file, 'copy')
      const plans = configuredPlans(config, named)
      if (plans.length === 0) throw new UsageError(NO_FILE)
      const published = await withReports(config, await publishApart(plans, io), io)
      print(io.stdout, json ? jsonDocument(published) : publishedText(published))
      say(io.stderr, failedText(published))
      io.exitWith(copyExitCode(published))
    })
}

const NO_FILE =
  "Nothing says where the copy goes. Name a file in a folder of its own, e.g. 'customer-mirror publish ./copies/customers.db', " +
  'or s3://bucket/prefix, or add publish: { file: ./copies/customers.db } to the configuration.'

const EXAMPLES = `
The copy holds what is public in the mirror, is replaced as a whole, and opens from a read-only place. It is 0440, in a folder of 0750; publish.group in the configuration names the group that may read it.

In a bucket, each organization is one Parquet object, customers/organization=…/customers-….parquet, and manifest.json, which is written last, names them. Credentials come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), a profile or a role; AWS_ENDPOINT_URL_S3 names a service other than Amazon S3.

Examples:
  $ customer-mirror publish
      the copy of the configuration, as after each night
  $ customer-mirror publish ./copies/customers.db --json
      another file, and what it holds as JSON
  $ customer-mirror publish s3://analytics/customer-mirror
      a Parquet object for each organization
`
