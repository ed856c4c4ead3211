import { columnsThere, readStatement } from '../copies/read-rows.ts'

/** An organization in figures, none of which says anything of a single customer. */
export type Figures = {
  organization: string
  /** The start of the last scan that read the list to its end, `YYYY-MM-DD HH:MM:SS` in UTC; undefined where none did. */
  readAsOf: string | undefined
  active: number
  missing: number
  removed: number
  /** The latest days, in order: at most DAYS. `day` is YYYY-MM-DD; `active` are those at its end. */
  days: { day: string; active: number }[]
  /** The latest months, in order: at most MONTHS. `month` is YYYY-MM. */
  months: { month: string; added: number; removed: number; changed: number }[]
  /** Active customers by language, most first; the text is as sent, and empty for those without one. */
  languages: Share[]
  /** Companies by how many active customers they have; undefined where the names of companies are not known. */
  companies: Share[] | undefined
}

export type Share = { name: string; count: number }

const DAYS = 400
const MONTHS = 24

/** The figures of each organization, by id, from one state of a mirror or a copy. Throws UsageError and MirrorUnusable. */
export async function readFigures(place: string): Promise<Figures[]> {
  // A copy without personal data has no names of companies.
  const hasCompanies = (await columnsThere(place, ['company_name'])).length > 0
  const statement = `${FIGURES} ${hasCompanies ? OF_COMPANIES : ''} ORDER BY 1, 2, 3`
  const found = new Map<string, Figures>()
  for await (const { rows } of readStatement(place, statement, { asMade: true }))
    for (const [kind, id, label, ...counts] of rows) {
      const organization = String(id)
      const gathered = found.get(organization) ?? nothing(organization, hasCompanies)
      found.set(organization, gathered)
      GATHER[String(kind)]?.(gathered, String(label), counts.map(Number))
    }
  return [...found.values()].map(inOrder).toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
}

/** One statement for all of it, so that the figures are of one state. */
const FIGURES = `
  SELECT 'list' AS kind, organization, coalesce(CAST(read_as_of AS TEXT), '') AS label, active AS one, missing AS two, removed AS three
  FROM freshness
  UNION ALL SELECT 'day', organization, CAST(day AS TEXT), active, 0, 0 FROM customers_daily
  UNION ALL SELECT 'month', organization, substr(CAST(day AS TEXT), 1, 7), CAST(SUM(added) AS BIGINT), CAST(SUM(removed) AS BIGINT),
    CAST(SUM(changed) AS BIGINT) FROM customers_daily GROUP BY 1, 2, 3
  UNION ALL SELECT 'language', organization, coalesce(trim(language), ''), COUNT(*), 0, 0 FROM active_customers GROUP BY 1, 2, 3`

const OF_COMPANIES = `
  UNION ALL SELECT 'company', organization, CASE WHEN customers = 1 THEN '0' WHEN customers < 5 THEN '1' WHEN customers < 20 THEN '2' ELSE '3' END,
    COUNT(*), 0, 0
  FROM (SELECT organization, lower(trim(company_name)) AS company, COUNT(*) AS customers FROM active_customers
    WHERE trim(coalesce(company_name, '')) <> '' GROUP BY 1, 2) AS companies
  GROUP BY 1, 2, 3`

const SIZES = ['one customer', '2 to 4 customers', '5 to 19 customers', '20 or more']

function nothing(organization: string, hasCompanies: boolean): Figures {
  const lists = { days: [], months: [], languages: [], companies: hasCompanies ? [] : undefined }
  return { organization, readAsOf: undefined, active: 0, missing: 0, removed: 0, ...lists }
}

const GATHER: Readonly<Record<string, (into: Figures, label: string, counts: readonly number[]) => void>> = {
  list(into, label, [active = 0, missing = 0, removed = 0]) {
    Object.assign(into, { readAsOf: label === '' ? undefined : label.slice(0, 19), active, missing, removed })
  },
  day: ({ days }, day, [active = 0]) => void days.push({ day, active }),
  month: ({ months }, month, [added = 0, removed = 0, changed = 0]) =>
    void months.push({ month, added, removed, changed }),
  language: ({ languages }, name, [count = 0]) => void languages.push({ name, count }),
  company: ({ companies }, size, [count = 0]) => void companies?.push({ name: SIZES[Number(size)] ?? size, count }),
}

function inOrder({ days, months, languages, ...facts }: Figures): Figures {
  return {
    ...facts,
    days: days.slice(-DAYS),
    months: months.slice(-MONTHS),
    languages: languages.toSorted((one, other) => other.count - one.count),
  }
}
