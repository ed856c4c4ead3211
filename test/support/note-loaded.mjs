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
const ofNode = () => process.moduleLoadList.map((name) => name.replace('NativeModule ', 'node:'))
process.on('exit', () => {
  appendFileSync(process.env['CUSTOMER_MIRROR_TEST_LOADED'], `${[...loaded, ...ofNode()].join('\n')}\n`)
})
