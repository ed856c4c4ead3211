import type { Format, FormatSettings } from './format.ts'

/** Each format with what loads it. */
const LOADERS = {
  csv: async (settings: FormatSettings) => (await import('./csv.ts')).csvFormat(settings),
  jsonl: async (settings: FormatSettings) => (await import('./json-lines.ts')).jsonLinesFormat(settings),
  parquet: async () => (await import('./parquet.ts')).parquetFormat(),
} satisfies Record<string, (settings: FormatSettings) => Promise<Format>>

export type FormatName = keyof typeof LOADERS

export const FORMAT_NAMES: readonly string[] = Object.keys(LOADERS)

/** The format of this name. */
export function loadFormat(name: FormatName, settings: FormatSettings): Promise<Format> {
  return LOADERS[name](settings)
}

export function isFormatName(name: string): name is FormatName {
  return Object.hasOwn(LOADERS, name)
}
