/** What an id of an organization looks like: it stands in commands, tables and names of jobs. */
export const ORGANIZATION_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/
