import { BackendPostgres } from "openworkflow/postgres"
import postgres from "postgres"
import type { OpenPeer } from "../adapter.ts"
import { freshDatabase } from "./fresh-database.ts"
import { openworkflowPostgres } from "./openworkflow-postgres-peer.ts"
import { openworkflowPeer } from "./openworkflow-workflows.ts"

export const open: OpenPeer = async (place) => {
  const database = await freshDatabase(place)
  // Connecting creates the tables; a pool of another size than its default must be our own.
  await (await BackendPostgres.connect(database.url)).stop()
  const { poolMax: max } = openworkflowPostgres.settings
  const pool = postgres(database.url, { max, transform: { column: { from: postgres.toCamel } } })
  const peer = await openworkflowPeer(BackendPostgres.fromPool(pool), openworkflowPostgres.settings)
  return {
    ...peer,
    async close() {
      await peer.close()
      await pool.end()
      await database.drop()
    },
  }
}
