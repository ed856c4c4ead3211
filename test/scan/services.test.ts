import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { scanOf, SERVICES, uncounted, type ScanOptions, type Serve } from '../support/scanned-services.ts'
import type { Order } from '../support/known-list.ts'

const SORTED: readonly Order[] = ['id asc', 'created desc, id desc', 'name', 'last change desc']
const ORDERS: readonly Order[] = [...SORTED, 'ties desc', 'shuffled']

/** In the last two, customers who change move. */
const BUSY_ORDERS: readonly Order[] = ['id asc', 'ties desc', 'name', 'last change desc']
const MOVING = BUSY_ORDERS.slice(2)

const READINGS: readonly ScanOptions[] = [
  { size: 950, parallel: 1 },
  { size: 640, pageSize: 40, parallel: 4 },
  { size: 333, pageSize: 20, parallel: 2 },
  { size: 101, parallel: 3 },
  { size: 24, pageSize: 3, parallel: 1 },
  { size: 5, parallel: 1 },
  { size: 9, pageSize: 2, parallel: 1 },
]

/** Before each answer a customer comes, leaves or changes, on average. */
const BUSY: NonNullable<ScanOptions['between']> = (list, luck) => {
  for (let left = luck.below(3); left > 0; left -= 1) {
    const kind = luck.below(3)
    if (kind === 0) list.insert()
    else if (kind === 1) list.delete()
    else list.move()
  }
}

/** Seven customers were created in each second. */
const createdSecondOf = (serial: number) => Math.floor(serial / 7)

/** The grades, the requests and the customers unread of a few scans of the list, and every reason. */
function read(name: string, serve: Serve, options: ScanOptions, reasons: Set<string>): string {
  const scans = READINGS.map((reading, seed) => scanOf(serve, { ...reading, createdSecondOf, seed, ...options }))
  for (const { certificate, lost, lostInPlace, requests, size } of scans) {
    const { proof } = certificate
    for (const reason of certificate.reasons) reasons.add(reason)
    const unread = proof === 'unproven' ? 0 : MOVING.includes(options.order ?? 'name') ? lostInPlace : lost
    // Where customers come and go, totals do not show that some answers lack a few.
    const isMisled = options.between !== undefined && name === 'one database that lacks three rows'
    if (!isMisled)
      expect({ name, order: options.order, proof, unread }).toEqual({ name, order: options.order, proof, unread: 0 })
    const isTooDear = requests > 2 * ((3 * size) / certificate.pageSize + 40)
    expect({ name, options, requests, isTooDear }).toMatchObject({ isTooDear: false })
  }
  const grades = scans.map(({ certificate: { proof, stoppedAt, isWhole } }) =>
    proof !== 'unproven' ? proof.charAt(0) : stoppedAt ? '!' : isWhole ? 'w' : '-',
  )
  const sum = (of: (scan: (typeof scans)[number]) => number) => scans.reduce((total, scan) => total + of(scan), 0)
  return `${grades.join('')} ${sum(({ requests }) => requests)} ${sum(({ lost }) => lost)}`
}

const HEAD = `# What scans of services prove and cost

Seven scans in a cell: \`p\` proven, \`s\` settled, \`w\` unproven and whole, \`-\` unproven, \`!\` ended before the end of the list; their requests,
and how many customers they leave unread. First at rest, then with a change before each answer, then interrupted and continued, then without totals; \`plain\` is a plain scan, with its reasons; \`reasons\` are those of all others.
Written by the tests: \`npm run test:deep -- test/scan/services.test.ts --update\`.
`

const PAGE = readFileSync(new URL('services.md', import.meta.url), 'utf8').split('\n')

test('what a scan of each service proves, what it costs, and how many customers it leaves unread', async () => {
  const others = ['id asc, resumed', 'name, busy, resumed', 'no totals', 'plain', 'reasons']
  const columns = ['service', ...ORDERS, ...BUSY_ORDERS.map((order) => `${order}, busy`), ...others]
  const lines = Object.entries(SERVICES).map(([name, serve], row) => {
    const [reasons, plainReasons] = [new Set<string>(), new Set<string>()]
    const scans: (() => string)[] = [
      ...ORDERS.map((order) => () => read(name, serve, { order }, reasons)),
      ...BUSY_ORDERS.map((order) => () => read(name, serve, { order, between: BUSY }, reasons)),
      () => read(name, serve, { order: 'id asc', stopAfter: 3 }, reasons),
      () => read(name, serve, { order: 'name', stopAfter: 4, between: BUSY }, reasons),
      // Without a total, nothing but the limit of requests ends a list that grows as fast as it is read.
      () => (name === 'a list that grows for ever' ? '' : read(name, uncounted(serve), { order: 'id asc' }, reasons)),
      () => [read(name, serve, { order: 'id asc', isPlain: true }, plainReasons), ...plainReasons].join(' '),
    ]
    // `npm test` plays one cell of every fourth service, each in another column.
    const line = inject('isDeep') ? undefined : PAGE.find((each) => each.startsWith(`| ${name} |`))
    const known = line?.slice(2, -2).split(' | ').slice(1, -1)
    const cells = scans.map((scan, column) => (known && (row + 3 * column) % 56 > 0 ? known[column] : scan()))
    if (known !== undefined) expect([name, ...cells]).toEqual([name, ...known])
    return [name, ...cells, [...reasons].toSorted().join(', ')]
  })
  const table = [columns, columns.map(() => '-'), ...lines].map((line) => `| ${line.join(' | ')} |`)
  if (inject('isDeep')) await expect([HEAD, ...table, ''].join('\n')).toMatchFileSnapshot('services.md')
})
