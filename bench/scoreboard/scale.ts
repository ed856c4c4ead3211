/** How long the list of a scenario is, and the pace that both contenders keep. */
export type Scale = { customers: number; requestsPerMinute?: number }

/** The scale of a scenario, with as many customers as were asked for, if a number was. */
export function scaleOf(scenario: string, { customers }: { customers?: number | undefined }): Scale {
  const usual = SCALES[scenario] ?? { customers: USUAL_CUSTOMERS }
  return customers === undefined ? usual : { ...usual, customers }
}

const USUAL_CUSTOMERS = 1050

/** Scenarios that are about long lists, or a slow service. */
const SCALES: Record<string, Scale> = {
  'import-of-one-second': { customers: 50_000 },
  'hidden-order': { customers: 20_000 },
  'by-name-slow': { customers: 50_000, requestsPerMinute: 60 },
  'last-change': { customers: 50_000 },
  'capped-total': { customers: 1500 },
}
