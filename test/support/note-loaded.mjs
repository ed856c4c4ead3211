// Loaded into the program with --import: writes down, when it ends, every module it loaded, one address a line.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded = new Set()
registerHooks({
  load(url, context, next) {
    loaded.add(url)
    return next(url, context)
  },
})
process.on('exit', () => {
  appendFileSync(process.env['CUSTOMER_MIRROR_TEST_LOADED'], `${[...loaded].join('\n')}\n`)
})
