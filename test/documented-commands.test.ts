import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { aDocumentedMachine, type Folder } from './support/documented-machine.ts'
import { type Block, blocksIn, commandsIn, isMarkedUnrun, type Page, PAGES } from './support/documents.ts'
import { isEmbedded } from './support/jobs-workplace.ts'
import { rowsOf } from './support/mirror-file.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Pages whose blocks are run by tests of their own: test/handing-on. */
const HANDING_ON = 'docs/read/recipes.md'
const PAGES_HERE = PAGES.filter(({ name }) => name !== HANDING_ON)
/** Pages whose commands are run in a deep run; test/cli/export.test.ts and test/cli/privacy.test.ts have the same options. */
const LONG = ['runbooks', 'monitoring', 'copies', 'backups', 'organizations']
  .map((page) => `docs/operate/${page}.md`)
  .concat('docs/read/exports.md', 'docs/explain/privacy.md')
/** Blocks that are run in a deep run: they need the mirror of the demo, or a sandbox beside them, as test/cli/sandbox-and-demo.test.ts has. */
const LONG_BLOCK = /\bnpm start --|\bcustomer-mirror sandbox\b/
/** A command that is run in a deep run: to open the embedded queue takes a second or two of a processor. */
const LONG_COMMAND = /\bcustomer-mirror worker --embedded\b/
const BLOCKS = PAGES_HERE.flatMap((page) => blocksIn(page))

/** Commands that are run elsewhere: by what, and where to see it. */
const RUN_ELSEWHERE: readonly (readonly [command: string, file: string, evidence: RegExp])[] = [
  ['npm ci', '.ci/run', /^step npm ci\b/m],
  ['npm run demo', '.ci/run', /^step npm run demo$/m],
  ['npm test', '.ci/run', /^step .*npm run test:deep\b/m],
  ['npm run bench -- --quick', '.ci/run', /^step npm run bench -- --quick$/m],
  ['npm pack', 'test/support/package-checkout.ts', /npm\(checkout, 'pack'/],
  ['npm install --global --ignore-scripts', 'test/package.deep.test.ts', /'install', '--global', .*'--ignore-scripts'/],
]

/** Programs that are run here, each in a temporary folder. Others could change the machine that runs the tests. */
const RUN_HERE =
  /^((\/usr\/local\/bin\/)?customer-mirror|npm start --|sqlite3|sha256sum|\(umask 077; sqlite3|cd \/srv\/customer-mirror && customer-mirror) |^(mkdir trial && cd trial|backup=\/backup\/.*)$|^(\(umask 077; openssl rand|phone='|hash=\$\(printf) ?/

test('every block is of a kind that a test knows', () => {
  const kinds = new Set(BLOCKS.map(({ language }) => language))

  expect([...kinds].toSorted()).toEqual(['crontab', 'duckdb', 'ini', 'json', 'sh', 'sql', 'text', 'yaml'])
})

test('what runs elsewhere is run there', () => {
  for (const [command, file, evidence] of RUN_ELSEWHERE) {
    expect(readFileSync(join(ROOT, file), 'utf8'), command).toMatch(evidence)
  }
})

test('every command is run here, or elsewhere, or its page says that it is not run', () => {
  const commands = BLOCKS.flatMap(commandsIn)
  const unknown = commands.filter(
    (command) => !isMarkedUnrun(command) && !isRunElsewhere(command) && !RUN_HERE.test(command),
  )

  expect(commands.length).toBeGreaterThan(40)
  expect(unknown).toEqual([])
})

test.each(
  PAGES_HERE.filter((page) => hasCommands(page) && (inject('isDeep') || !LONG.includes(page.name))).map(
    (page) => [page.name, page] as const,
  ),
)('the commands of %s work for a reader who runs them in their order', async (_, page) => {
  const blocks = blocksIn(page).filter((block) => commandsToRun(block).length > 0 && isShort(block))
  if (blocks.length === 0) return
  const machine = await aDocumentedMachine()
  for (const block of blocks) {
    const [started, others] = partition(commandsToRun(block), (command) => command.startsWith('customer-mirror init'))
    for (const [commands, folder] of [[started, 'empty'] as const, [others, folderOf(block)] as const]) {
      if (commands.length === 0) continue
      const { code, stdout, stderr } = await machine.run(commands, folder)

      expect(code, `${block.heading}:\n${commands.join('\n')}\n${stderr}`).toBe(0)
      if (folder !== 'empty') expect(stdout.replaceAll(/ +$/gm, '')).toContain(shownAfter(block))
    }
  }
})

/** Who follows the README writes a configuration in a folder of their own; the other commands use the one that is filled in. */
function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

function hasCommands(page: Page): boolean {
  return blocksIn(page).some((block) => commandsIn(block).length > 0)
}

function isShort({ text }: Block): boolean {
  return inject('isDeep') || !LONG_BLOCK.test(text)
}

function commandsToRun(block: Block): string[] {
  const isRunNow = (command: string) => inject('isDeep') || !LONG_COMMAND.test(command)
  return commandsIn(block)
    .filter((command) => RUN_HERE.test(command) && !isMarkedUnrun(command))
    .filter((command) => isRunOnThisQueue(command) && isRunNow(command))
}

function isRunElsewhere(command: string): boolean {
  const bare = command.replace(/\s+#.*/s, '')
  const isKnown = (part: string) => RUN_ELSEWHERE.some(([known]) => part === known || part.startsWith(`${known} ./`))
  return bare.split(' && ').every((part) => isKnown(part.trim()))
}

/** An embedded queue cannot be reached from another process. */
function isRunOnThisQueue(command: string): boolean {
  return !isEmbedded || !/^customer-mirror (run|cancel)\b/.test(command)
}

/** The result that the page shows below a block. */
function shownAfter(block: Block): string {
  const next = BLOCKS[BLOCKS.findIndex(({ page, text }) => page === block.page && text === block.text) + 1]
  return next?.language === 'text' ? next.text.trim() : ''
}

/** The folder in which a reader of the page is. */
function folderOf({ heading, text }: Block): Folder {
  if (/\bnpm start\b/.test(text)) return 'checkout'
  return heading === 'Copies for readers' ? 'copies' : 'home'
}

test('every query runs, on the mirror or on the copy for readers', async () => {
  const { mirror, copy } = await aDocumentedMachine()
  const queries = BLOCKS.filter(({ language }) => language === 'sql').map((block) => block.text)

  expect(queries.length).toBeGreaterThan(3)
  for (const sql of queries) {
    for (const file of /\bmanifest\b/.test(sql) ? [copy] : [mirror, copy])
      expect(() => rowsOf(file, sql.trim()), sql).not.toThrow()
  }
})
