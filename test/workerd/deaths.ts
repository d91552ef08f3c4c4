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

/** Lets every object die at that moment of that call; to be waited for once something leads to it. */
export function deathAt(call: Pick<CallPlan, "method" | "target" | "moment">): () => Promise<void> {
  let isReached = false
  const strike = () => {
    isReached = true
    return new Promise<never>(() => undefined)
  }
  network.plan = { ...call, strike }
  return async () => {
    // Looked at, and not told: what is resolved in an object goes on in its context, where others cannot be aborted.
    await until(`${call.method} of ${call.target}`, () => isReached)
    await dieAll()
  }
}

/** All objects lose their memory, and what their code was doing is not done any more. */
export async function dieAll(): Promise<void> {
  await abortAllDurableObjects()
  inside.now.clear()
}

/** As time would: alarms go off until it is over. */
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
