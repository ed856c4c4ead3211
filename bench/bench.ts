import { writeCurves } from './curves.ts'
import { runBench } from './run-bench.ts'
import { writeScale } from './scale/write-scale.ts'

/** What the benchmark does instead where it is asked to, by the option. */
const INSTEAD = { '--curves': writeCurves, '--scale': writeScale }

const args = process.argv.slice(2)
const [option, write] = Object.entries(INSTEAD).find(([name]) => args.includes(name)) ?? []
process.exitCode =
  write === undefined
    ? await runBench(args, process)
    : await write(
        args.filter((argument) => argument !== option),
        process,
      )
