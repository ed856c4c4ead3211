import type { Published } from '../reading/publish/publish-plan.ts'
import type { ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { say } from './output/say.ts'

/** The copies made after runs, in words where there is neither JSON nor a log, and in the exit code of the runs. */
export async function reportCopies(
  { stdout, stderr, exitWith }: Io,
  { runs, published }: { runs: ExitCode; published: Published | undefined },
  { json, logLevel }: { json?: true | undefined; logLevel?: string | undefined } = {},
): Promise<void> {
  if (published === undefined) return exitWith(runs)
  const { publishedText, failedText, exitCodeWithCopies } = await import('./output/published-text.ts')
  if (!json) stdout.write(publishedText(published))
  if (logLevel === undefined) say(stderr, failedText(published))
  exitWith(exitCodeWithCopies(runs, published))
}
