import { join } from "node:path"
import { sqlite } from "perdure/sqlite"
import type { OpenPeer } from "../adapter.ts"
import { perdurePeer } from "./perdure-workflows.ts"

export const open: OpenPeer = ({ folder }) => perdurePeer(sqlite(join(folder, "bench.db")))
