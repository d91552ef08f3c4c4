import { runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, type DurableObjectState, type DurableObjectStub, env } from "cloudflare:workers"

let objects = 0

/** An object that no other test uses. */
export function bareObject(): DurableObjectStub {
  const { BARE } = env as { readonly BARE: DurableObjectNamespace }
  return BARE.get(BARE.idFromName(`bare-${++objects}`))
}

/** Calls `fn` inside an object that no other test uses. */
export function inBareObject<T>(fn: (state: DurableObjectState) => T | Promise<T>): Promise<T> {
  return runInDurableObject(bareObject(), (_, state) => fn(state))
}
