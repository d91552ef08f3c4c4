// One worker of the chaos test, which runs until it gets a signal or is killed.

import { Perdure } from "../../../../src/index.ts"
import { postgres } from "../../../../src/postgres.ts"
import { silentLogger } from "../../../../src/hosts/silent-logger.ts"
import { chaosWorkflows } from "./chaos-workflows.ts"
import { Effects } from "./effects.ts"

export interface ChaosWorkerOptions {
  /** The address of the store, through the proxy. */
  readonly url: string
  /** The address of the effects' tables. */
  readonly effectsUrl: string
  readonly schema: string
  readonly name: string
}

const { url, effectsUrl, schema, name } = JSON.parse(process.argv[2] ?? "{}") as ChaosWorkerOptions
process.on("disconnect", () => process.exit(1))

// As if the clock of the machine was set.
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
