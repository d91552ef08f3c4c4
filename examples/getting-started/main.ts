// Starts a few workflows on a SQLite file and shows what happens. Stop it in the middle, with Ctrl-C or kill -9: the next start goes on.
//
//   npm run demo                               as a person would
//   npm run demo -- Ada                        greets Ada
//   node main.ts --database /tmp/example.db    keeps its data elsewhere

import { mkdirSync } from "node:fs"
import { dirname, relative } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Engine, type InstanceDescription, Perdure } from "perdure"
import { sqlite } from "perdure/sqlite"
import { onKey } from "./keyboard.ts"
import { isOver, messageOf } from "./step-lines.ts"
import { openView } from "./terminal-view.ts"
import { order, test } from "./workflows.ts"

const unfinished = ["queued", "running", "sleeping", "waiting", "paused", "stalled"] as const
const redrawMs = 100
const approvalMs = 8_000
const paymentMs = 2_000

const { values, positionals } = parseArgs({ options: { database: { type: "string" } }, allowPositionals: true })
const database = values.database ?? fileURLToPath(new URL(".perdure/getting-started.db", import.meta.url))
const { stdin, stdout } = process
const isInteractive = stdin.isTTY && stdout.isTTY

async function main(): Promise<void> {
  mkdirSync(dirname(database), { recursive: true })
  const engine = await Perdure.open({ store: sqlite(database), workflows: [test, order] })
  console.log(`\n  Perdure, with everything it knows in ${relative(process.cwd(), database)}\n`)
  try {
    const ids = (await pickUp(engine)) ?? (await startAnew(engine, positionals[0] ?? "World"))
    const isDone = await follow(engine, ids)
    if (!isDone) console.log("\n  Stopped. Nothing is lost: the next `npm run demo` goes on from here.\n")
    else process.exitCode = await report(engine, ids)
  } finally {
    await engine.close()
  }
}

/** Instances that an earlier start left unfinished. The engine goes on with them by itself; here they are only looked up. */
async function pickUp(engine: Engine): Promise<readonly string[] | undefined> {
  const { instances } = await engine.list({ status: unfinished, order: "oldest", limit: 10 })
  if (instances.length === 0) return undefined
  const ids = instances.map(({ id }) => id)
  console.log(`  picked up ${ids.length} unfinished ${ids.length === 1 ? "instance" : "instances"}: ${ids.join(", ")}\n`)
  return ids
}

async function startAnew(engine: Engine, name: string): Promise<readonly string[]> {
  const { test: tests = 0, order: orders = 0 } = await engine.count({}, "workflow")
  const first = await engine.start(test, { id: `test-${tests + 1}`, input: { name } })
  const second = await engine.start(order, { id: `order-${orders + 1}`, input: { items: ["lamp", "chair"] } })
  return [first.id, second.id]
}

/** Shows the instances until all of them are over (true), or somebody wants to stop. */
async function follow(engine: Engine, ids: readonly string[]): Promise<boolean> {
  const view = openView(stdout, process.env)
  const sent = new Set<string>()
  let answer: boolean | undefined
  let stop = false
  const interrupt = () => {
    stop = true
  }
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt)
  const stopKeys = isInteractive ? onKey(stdin, (key) => (key === "interrupt" ? interrupt() : (answer = key === "enter"))) : () => undefined
  const startedAt = Date.now()
  try {
    while (!stop) {
      const instances = await Promise.all(ids.map((id) => engine.describe(id)))
      view.show(instances, hintFor(instances, answer))
      if (instances.every((instance) => isOver(instance) || instance.status === "stalled")) return true
      if (!isInteractive && Date.now() - startedAt >= approvalMs) answer = true
      await sendEvents(engine, instances, answer, sent)
      await delay(redrawMs)
    }
    return false
  } finally {
    stopKeys()
    view.close()
  }
}

function hintFor(instances: readonly InstanceDescription[], answer: boolean | undefined): string {
  if (!instances.some((instance) => instance.workflow === "test" && !isOver(instance))) return ""
  if (answer !== undefined) return answer ? "approved" : "not approved"
  return isInteractive ? "Enter approves · n refuses · Ctrl-C stops here, and the next start goes on" : "approves by itself in a moment"
}

/** What the world outside does: a person answers, a customer pays. An event id makes sure that it counts once, however often it is sent. */
async function sendEvents(engine: Engine, instances: readonly InstanceDescription[], answer: boolean | undefined, sent: Set<string>): Promise<void> {
  for (const instance of instances) {
    const { id, workflow, createdAt } = instance
    if (isOver(instance) || sent.has(id)) continue
    if (workflow === "test" && answer !== undefined) {
      sent.add(id)
      await engine.get(test, id).sendEvent("approval", { approved: answer }, { eventId: "approval" })
    }
    if (workflow === "order" && Date.now() - createdAt >= paymentMs) {
      sent.add(id)
      await engine.get(order, id).sendEvent("payment", { amount: 129 }, { eventId: "payment" })
    }
  }
}

/** The exit code: 0 if all have completed. */
async function report(engine: Engine, ids: readonly string[]): Promise<number> {
  const instances = await Promise.all(ids.map((id) => engine.describe(id)))
  console.log("")
  for (const { id, status, result, error } of instances) {
    console.log(`  ${id.padEnd(10)} ${status === "completed" ? JSON.stringify(result) : `${status}: ${messageOf(error)}`}`)
  }
  console.log("\n  Start it again, and stop it in the middle (Ctrl-C, or kill -9): the next start goes on where it was.\n")
  return instances.every(({ status }) => status === "completed") ? 0 : 1
}

await main()
