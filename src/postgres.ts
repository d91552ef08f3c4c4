export { postgres, type PostgresOptions } from "./stores/postgres/postgres-provider.ts"
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./stores/postgres/connection/pg.ts"
