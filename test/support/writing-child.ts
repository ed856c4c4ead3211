import { beginFile } from '../../src/copies/written-file.ts'

/** Begins to write the file that is named, says where, and never ends. */
process.stdout.write(`${beginFile(process.argv[2] ?? '').path}\n`)
setInterval(() => {}, 1000)
