// One worker of the chaos test, until it is told to end, or killed.

import { Perdure } from "../../../../src/index.ts"
import { postgres } from "../../../../src/postgres.ts"
import { silentLogger } from "../../../../src/hosts/silent-logger.ts"
import { chaosWorkflows } from "./chaos-workflows.ts"
import { Effects } from "./effects.ts"

export interface ChaosWorkerOptions {
  /** Where the store is, with whatever stands before it. */
  readonly url: string
  /** Where the effects go. */
  readonly effectsUrl: string
  readonly schema: string
  readonly name: string
}

const { url, effectsUrl, schema, name } = JSON.parse(process.argv[2] ?? "{}") as ChaosWorkerOptions
process.on("disconnect", () => process.exit(1))

// As if somebody set the clock of the machine.
const wallClock = Date.now
let steppedMs = 0
Date.now = () => wallClock() + steppedMs
process.on("message", ({ stepMs }: { readonly stepMs: number }) => (steppedMs += stepMs))

const effects = new Effects(effectsUrl)
const engine = await Perdure.open({
  store: postgres({ connectionString: url, schema, answerTimeout: "5s" }),
  workflows: chaosWorkflows(effects, name),
  lease: "1s",
  drain: "1s",
  maxRecoveries: 1_000,
  log: silentLogger,
})
process.send?.("ready")
process.once("SIGTERM", () => void engine.close().finally(() => process.exit(0)))
