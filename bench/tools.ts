import type { Group, Member } from './members.ts'
import type { Dataset } from './messages.ts'
import type { ProgramName } from './run-program.ts'
import { runToEnd } from './run-to-end.ts'

/** Public tools that a user might take instead. They are measured where they are installed, and never needed. */
const TOOLS: readonly Tool[] = [
  { name: 'dlt', program: 'dlt', module: 'dlt', install: 'pip install "dlt[duckdb]"' },
  { name: 'PyAirbyte', program: 'pyairbyte', module: 'airbyte', install: 'pip install airbyte' },
]
type Tool = { name: string; program: ProgramName; module: string; install: string }

/** The tools that one of the Pythons has, each for an initial sync and for a night after it, and a note for each other. */
export async function toolsGroup(
  dataset: Dataset,
  pythons: readonly string[],
): Promise<{ group: Group; notes: string[] }> {
  const members: Member[] = []
  const notes: string[] = []
  for (const tool of TOOLS) {
    const python = await pythonWith(tool.module, pythons)
    if (python === undefined) notes.push(`${tool.name} was not measured: it is not installed (${tool.install})`)
    else members.push(...membersOf(tool, dataset, python))
  }
  const about = `${dataset.customers.toLocaleString('en')} customers with public tools, no latency`
  return { group: { name: 'tools', about, members }, notes }
}

async function pythonWith(module: string, pythons: readonly string[]): Promise<string | undefined> {
  for (const python of pythons) {
    const { code } = await runToEnd([python, '-c', `import ${module}`]).catch(() => ({ code: 1 }))
    if (code === 0) return python
  }
  return undefined
}

function membersOf({ name, program }: Tool, dataset: Dataset, python: string): Member[] {
  const answering = { latencyMs: 0, gzip: false, edition: 'base' } as const
  const base = { program, dataset, python, answering, scan: 'plain', floors: [] } as const
  return [
    { ...base, name: `${name}, initial sync`, start: 'empty' },
    { ...base, name: `${name}, a second night`, start: 'yesterday' },
  ]
}
