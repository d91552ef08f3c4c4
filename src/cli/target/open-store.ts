import { randomFillSync } from "node:crypto"
import type { Host } from "../../ports/host.ts"
import type { Store } from "../../ports/store.ts"
import type { Invocation } from "../invocation.ts"
import { storeOf } from "./database-target.ts"

/** Opens the store without an engine, for commands that read or write its content directly. */
export async function openStore(cli: Invocation, db: string): Promise<Store> {
  const say = (message: string) => cli.note(message)
  const provider = await storeOf(db)
  const store = await provider.open({ now: () => cli.io.now(), log: { debug: () => undefined, info: () => undefined, warn: say, error: say }, role: "client" })
  cli.onClose(() => store.close())
  return store
}

/** The clock and the random bytes for writes to that store. */
export function hostOf({ io }: Invocation): Pick<Host, "now" | "randomBytes"> {
  return { now: () => io.now(), randomBytes: (length) => randomFillSync(new Uint8Array(length)) }
}
