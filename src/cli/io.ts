import type { ExitCode } from './exit-code.ts'

/** What a command may use of its process. */
export type Io = {
  /** Aborted when the user or the system asks the program to stop. */
  signal: AbortSignal
  /** For results. */
  stdout: NodeJS.WritableStream
  /** For everything said beside the results. */
  stderr: NodeJS.WritableStream
  /** Sets the code the program ends with, for a command that was carried out but has no good news. */
  exitWith: (code: ExitCode) => void
}

/** Whether somebody may be looking at what is written there. */
export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}
