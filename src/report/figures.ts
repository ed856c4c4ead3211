import { columnsThere, readStatement } from '../copies/read-rows.ts'

/** An organization in figures, none of which says anything of a single customer. */
export type Figures = ReturnType<typeof figuresOf>

export type Share = Figures['languages'][number]

const DAYS = 400
const MONTHS = 24

/** The figures of each organization, by id, from one state of a mirror or a copy. Throws UsageError and MirrorUnusable. */
export async function readFigures(place: string): Promise<Figures[]> {
  // A copy without personal data has no names of companies.
  const hasCompanies = (await columnsThere(place, ['company_name'])).length > 0
  const statement = `${FIGURES} ${hasCompanies ? OF_COMPANIES : ''} ORDER BY 1, 2, 3`
  const found: Found[] = []
  for await (const { rows } of readStatement(place, statement, { asMade: true }))
    for (const [kind, organization, label, ...counts] of rows) {
      const [one = 0, two = 0, three = 0] = counts.map(Number)
      found.push({ kind: String(kind), organization: String(organization), label: String(label), one, two, three })
    }
  return [...Map.groupBy(found, ({ organization }) => organization)]
    .map(([organization, own]) => figuresOf(organization, own, hasCompanies))
    .toSorted((one, other) => (one.organization < other.organization ? -1 : 1))
}

type Found = { kind: string; organization: string; label: string; one: number; two: number; three: number }

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

function figuresOf(organization: string, found: readonly Found[], hasCompanies: boolean) {
  const byKind = Map.groupBy(found, ({ kind }) => kind)
  const all = (kind: string) => byKind.get(kind) ?? []
  const [list] = all('list')
  const sizes = all('company').map(({ label, one: count }) => ({ name: SIZES[Number(label)] ?? label, count }))
  const languages = all('language').map(({ label: name, one: count }) => ({ name, count }))
  const days = all('day').map(({ label: day, one: active }) => ({ day, active }))
  const months = all('month').map(({ label: month, one: added, two: removed, three: changed }) => {
    return { month, added, removed, changed }
  })
  return {
    organization,
    /** The start of the last scan that read the list to its end, `YYYY-MM-DD HH:MM:SS` in UTC; undefined where none did. */
    readAsOf: list?.label.slice(0, 19) || undefined,
    ...{ active: list?.one ?? 0, missing: list?.two ?? 0, removed: list?.three ?? 0 },
    /** Companies by how many active customers they have; undefined where the names of companies are not known. */
    companies: hasCompanies ? sizes : undefined,
    /** The latest days, in order: at most DAYS. `day` is YYYY-MM-DD; `active` are those at its end. */
    days: days.slice(-DAYS),
    /** The latest months, in order: at most MONTHS. `month` is YYYY-MM. */
    months: months.slice(-MONTHS),
    /** Active customers by language, most first; the text is as sent, and empty for those without one. */
    languages: languages.toSorted((one, other) => other.count - one.count),
  }
}
