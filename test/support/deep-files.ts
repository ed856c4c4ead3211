/** Files of long tests, `NAME.deep.test.ts`: `NAME.test.ts` beside them tests the main promise in less time. */
const DEEP_FILES = 'test/**/*.deep.test.ts'

/** The files that a run leaves out: none in a deep run. A file that is left out is not to be named on the command line. */
export function notInThisRun({ isDeep, args }: { isDeep: boolean; args: readonly string[] }): string[] {
  if (isDeep) return []
  const named = args.find((arg) => /\.deep\b/.test(arg))
  if (named !== undefined)
    throw new Error(`${named} is only in the deep run: start it with \`npm run test:deep -- ${named}\`.`)
  return [DEEP_FILES]
}
