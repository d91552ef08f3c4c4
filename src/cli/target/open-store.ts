import { randomFillSync } from "node:crypto"
import type { Host } from "../../ports/host.ts"
import type { Store } from "../../ports/store.ts"
import type { Invocation } from "../invocation.ts"
import { storeOf } from "./database-target.ts"

/** The store itself, for commands that take its content as it is. It never executes. */
export async function openStore(cli: Invocation, db: string): Promise<Store> {
  const say = (message: string) => cli.note(message)
  const provider = await storeOf(db)
  const store = await provider.open({ now: () => cli.io.now(), log: { debug: () => undefined, info: () => undefined, warn: say, error: say }, role: "client" })
  cli.onClose(() => store.close())
  return store
}

/** Time and chance for what is written there. */
export function hostOf({ io }: Invocation): Pick<Host, "now" | "randomBytes"> {
  return { now: () => io.now(), randomBytes: (length) => randomFillSync(new Uint8Array(length)) }
}
