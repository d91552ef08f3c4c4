// A process that dies between a commit and the call of `onEnqueued` that follows it: `node lethal-hook-process.ts <file> <reason>`. It makes an instance
// runnable for the reason that it is given, and its hook kills the process with SIGKILL.

import { Perdure } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { job, workflows } from "./dispatched-workflows.ts"

const [file = "", wanted = ""] = process.argv.slice(2)
const onEnqueued = ({ reason }: { reason: string }) => {
  if (reason === wanted) process.kill(process.pid, "SIGKILL")
}
const interceptors = [
  (_: unknown, next: () => unknown) => {
    if (wanted === "attempt") process.kill(process.pid, "SIGKILL")
    return next()
  },
]
const engine = await Perdure.open({ store: sqlite(file), workflows, execute: "ticks", onEnqueued, interceptors })
async function tickForever(): Promise<never> {
  for (;;) await engine.tick()
}

const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  start: () => engine.start(job, { id: "start" }),
  event: () => engine.get("event").sendEvent("go"),
  control: () => engine.get("control").resume(),
  update: () => engine.get("update").update("note", "noted"),
  child: tickForever,
  attempt: tickForever,
}
await acts[wanted]?.()
// Nobody killed it.
process.exitCode = 1
