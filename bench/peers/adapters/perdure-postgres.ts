import { postgres } from "perdure/postgres"
import type { OpenPeer, OpenSender } from "../adapter.ts"
import { databaseOf, freshDatabase } from "./fresh-database.ts"
import { openPerdure, perdurePeer, sendTo } from "./perdure-workflows.ts"

export const open: OpenPeer = async (place) => {
  const database = await freshDatabase(place)
  return perdurePeer(postgres({ connectionString: database.url }), () => database.drop())
}

export const openSender: OpenSender = async (place) => {
  const engine = await openPerdure(postgres({ connectionString: databaseOf(place) }), "client")
  return { sendEvent: (number, value) => sendTo(engine, number, value), close: () => engine.close() }
}
