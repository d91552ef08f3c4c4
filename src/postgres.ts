export { postgres, type PostgresOptions } from "./stores/postgres/postgres.ts"
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./stores/postgres/pg.ts"
