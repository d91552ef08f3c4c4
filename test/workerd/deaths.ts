import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { type Handle, PerdureError } from "perdure"
import { workflowClient } from "perdure/cloudflare"
import { soon, until } from "./eventually.ts"
import { type CallPlan, inside, network } from "./faulty-runner.ts"

const { FAULTY } = env as { readonly FAULTY: DurableObjectNamespace }
export const client = workflowClient(FAULTY)
export const stubOf = (id: string) => FAULTY.get(FAULTY.idFromName(id))
export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export const moments = ["before", "after"] as const

/** Lets every object die at a moment of a call. The returned function waits for that moment. */
export function deathAt(call: Pick<CallPlan, "method" | "target" | "moment">): () => Promise<void> {
  let isReached = false
  const strike = () => {
    isReached = true
    return new Promise<never>(() => undefined)
  }
  network.plan = { ...call, strike }
  return async () => {
    // This polls, because a promise that an object resolves continues in its context, where other objects cannot be aborted.
    await until(`${call.method} of ${call.target}`, () => isReached)
    await dieAll()
  }
}

/** Aborts all objects. Their memory is lost, and their code stops. */
export async function dieAll(): Promise<void> {
  await abortAllDurableObjects()
  inside.now.clear()
}

/** Fires alarms until the instance has ended. */
export async function settled(handle: Handle, ids: readonly string[]): Promise<string> {
  const ended = await soon(async () => {
    for (const id of ids) await runDurableObjectAlarm(stubOf(id))
    const status = await handle.status().catch((error: unknown) => {
      const isAway = PerdureError.is(error, "UNREACHABLE") || PerdureError.is(error, "NOT_FOUND")
      return isAway ? "unknown" : { error }
    })
    if (typeof status === "string" && !["completed", "failed", "cancelled", "terminated"].includes(status)) throw new Error(`${handle.id} is ${status}`)
    return status
  })
  if (typeof ended !== "string") throw ended.error
  return ended
}

export async function entries(id: string, type: string): Promise<number> {
  const { entries: all } = await client.get(id).history({ limit: 1_000 })
  return all.filter((entry) => entry.type === type).length
}
