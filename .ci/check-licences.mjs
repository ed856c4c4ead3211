// usage: node .ci/check-licences.mjs sbom.cdx.json
// Names the packages in a CycloneDX list whose licence asks more than to be named, or which have none, and then ends with 1.
import { readFileSync } from 'node:fs'

/** Licences under which a package may be used, changed and passed on with this program. */
const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'])

const [file = ''] = process.argv.slice(2)
const { components = [] } = JSON.parse(readFileSync(file, 'utf8'))
const refused = components.filter(
  ({ licenses = [] }) => licenses.length === 0 || !licenses.map(expressionOf).every(isAllowed),
)

for (const { name, version, licenses = [] } of refused)
  console.error(
    `${name} ${version}: ${licenses.map(expressionOf).join(', ') || 'no licence'}. ` +
      'Use another package, or decide on this licence in .ci/check-licences.mjs.',
  )
if (components.length === 0) console.error(`${file}: lists no packages.`)
if (refused.length > 0 || components.length === 0) process.exitCode = 1
else console.log(`${components.length} packages, all under ${[...ALLOWED].join(', ')}`)

/** An SPDX expression, or the name that a package gives its licence. */
function expressionOf({ license, expression }) {
  return expression ?? license?.id ?? license?.name ?? ''
}

/** One licence to choose from has to be allowed, and all licences that hold together. A nested expression is refused. */
function isAllowed(expression) {
  const choices = expression.replace(/^\(([^()]*)\)$/, '$1').split(' OR ')
  return choices.some((choice) => choice.split(' AND ').every((licence) => ALLOWED.has(licence)))
}
