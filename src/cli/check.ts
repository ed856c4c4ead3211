import type { Finding } from './check-everything.ts'
import { command } from './command.ts'
import { exitCodeOfAll, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { say } from './output/say.ts'

/** `customer-mirror check`: reports whether a sync would work, and if not, what to do. */
export function checkCommand(io: Io) {
  return command('check', 'check what a sync needs, and ask each organization for a page', EXAMPLES)
    .argument('[organization...]', 'ids of organizations (default: all in the configuration)')
    .action(async (ids, { config }) => {
      const { checkEverything } = await import('./check-everything.ts')
      const findings: Finding[] = []
      for await (const finding of checkEverything(ids, config, io.signal)) {
        const mark = finding.error !== undefined ? '✖' : finding.isWarning ? '!' : '✔'
        const fix = finding.fix === undefined ? '' : `\n    fix: ${finding.fix}`
        say(io.stdout, `${mark} ${finding.what}: ${finding.said.replaceAll('\n', '\n    ')}${fix}\n`)
        findings.push(finding)
      }
      io.exitWith(exitCodeOfFindings(findings))
    })
}

/** An organization that answered counts beside the problems of others, and not beside one that it has too. */
function exitCodeOfFindings(findings: readonly Finding[]): ExitCode {
  const wrong = findings.filter(({ error }) => error !== undefined)
  const isAllCommon = wrong.length > 0 && wrong.every(({ isCommon }) => isCommon)
  const counted = isAllCommon ? wrong : findings.filter(({ error, decides }) => decides || error !== undefined)
  return exitCodeOfAll(counted.map(({ error }) => error))
}

const EXAMPLES = `
Examples:
  $ customer-mirror check
      Node, configuration, secrets, mirror, disk, copies, queue and clock, and the first page of every organization
  $ customer-mirror check acme
      the same for acme alone
`
