// Controls the process that sends events, from the process that executes workflows.

import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Place } from "./adapter.ts"

const script = fileURLToPath(new URL("./sender.ts", import.meta.url))

export interface OtherSender extends Disposable {
  /** Sends an event, and resolves to the time of sending, on the clock that all processes of a machine share. */
  send(number: number): Promise<bigint>
}

export async function otherSender(peer: string, place: Place): Promise<OtherSender> {
  const child = fork(script, [peer, JSON.stringify(place)], { execArgv: ["--disable-warning=ExperimentalWarning"] })
  const died = once(child, "exit").then(() => Promise.reject(new Error("the process that sends events has ended")))
  died.catch(() => {})
  await Promise.race([once(child, "message"), died])
  return {
    async send(number) {
      const answer = once(child, "message") as Promise<[{ readonly number: number; readonly sentAt: string }]>
      child.send(number)
      const [{ sentAt }] = await Promise.race([answer, died])
      return BigInt(sentAt)
    },
    [Symbol.dispose]: () => child.disconnect(),
  }
}
