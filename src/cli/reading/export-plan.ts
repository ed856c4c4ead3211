import type { Exported } from '../../reading/export/export-rows.ts'
import type { FormatName } from '../../reading/export/formats.ts'
import type { Selection } from '../../reading/export/selection.ts'
import type { UnknownOrganization } from '../../reading/organizations/mirrored-in.ts'

/** What the process that exports is to do, as JSON on its standard input. Paths are absolute. */
export type ExportPlan = {
  /** The mirror, or a published copy. */
  file: string
  /** Organizations of the configuration, which may be named although the mirror does not know them yet. */
  configured: readonly string[]
  selection: Selection
  format: FormatName
  excel: boolean
  /** The private name under which the file is written, and its own; undefined for standard output. */
  to?: { path: string; file: string } | undefined
  /** The folder into which each organization gets a file of its own, in place of one for all. */
  folder?: string | undefined
  /** Standard output is a terminal. */
  isForTerminal: boolean
  /** Report the rows so far. */
  withProgress: boolean
}

/** What that process reports: the rows so far, with all there will be where that is known; then how it ended. */
export type ExportReport =
  | ['rows', { rows: number; total?: number | undefined }]
  | ['unread']
  | ['done', Exported]
  | ['unknown-organization', UnknownOrganization]
  | ['failed', { code: string; message: string }]
