import { runBench } from './run-bench.ts'
import { writeCurves } from './curves/write-curves.ts'

const args = process.argv.slice(2)
process.exitCode = args.includes('--curves')
  ? await writeCurves(
      args.filter((argument) => argument !== '--curves'),
      process,
    )
  : await runBench(args, process)
