export { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../public-tables.ts'
