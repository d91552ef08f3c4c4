export { sqlite, type SqliteOptions } from "./stores/sqlite/sqlite-provider.ts"
