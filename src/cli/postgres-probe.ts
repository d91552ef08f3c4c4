import { CommandError, exitCodes } from "./exit-code.ts"

/** The schema of a store that is given none. */
const schema = "perdure"

/** Whether a PostgreSQL database has our tables. Reads only: to open a store on it would make them. */
export async function hasOurTables(connectionString: string): Promise<boolean> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, "a PostgreSQL database needs the package pg: npm install pg", { cause })
  })
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000, application_name: "perdure" })
  // A connection that breaks between two statements tells so by an event, and one that nobody hears ends the process.
  client.on("error", () => undefined)
  try {
    await client.connect()
    return (await client.query("SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'meta'", [schema])).rows.length > 0
  } catch (cause) {
    const { host, pathname } = new URL(connectionString)
    const message = `PostgreSQL at "${host}${pathname}" cannot be used: ${cause instanceof Error ? cause.message || "nobody answers" : String(cause)}`
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, message, { cause })
  } finally {
    await client.end().catch(() => undefined)
  }
}
