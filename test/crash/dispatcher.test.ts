// A process is killed between a commit that makes an instance runnable and its call of `onEnqueued`. A dispatcher that hears of no such call, and relies on
// the answers of `tick` alone, still executes every instance.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Engine, Perdure } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { job, parent, workflows } from "./dispatched-workflows.ts"

const script = fileURLToPath(new URL("./lethal-hook-process.ts", import.meta.url))

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-dispatcher-"))
  file = join(folder, "app.db")
})

afterEach(() => rmSync(folder, { recursive: true }))

const open = () => Perdure.open({ store: sqlite(file), workflows, execute: "ticks" })

/** Ticks as long as more is due, and sleeps until the next instance is due. Returns when no instance is due any more. */
async function dispatch(engine: Engine): Promise<void> {
  for (;;) {
    const { more, nextDueAt } = await engine.tick({ maxInstances: 1 })
    if (more) continue
    if (nextDueAt === undefined) return
    await delay(Math.max(0, nextDueAt - Date.now()))
  }
}

/** Runs a process that its own hook kills. */
async function killedAt(reason: string): Promise<void> {
  const cache = process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compile-cache")
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, file, reason], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  })
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"])
}

describe("a process that is killed between a commit and its onEnqueued", () => {
  it("leaves each instance to a dispatcher that goes by nextDueAt and more alone", async () => {
    await using engine = await open()
    for (const id of ["event", "control", "update"]) await engine.start(job, { id })
    await dispatch(engine)
    await engine.get("control").pause()
    await engine.get("control").sendEvent("go")
    await dispatch(engine)
    expect(await engine.get("control").status()).toBe("paused")

    await Promise.all(["start", "event", "control", "update"].map(killedAt))
    await dispatch(engine)
    expect((await engine.get("update").history()).entries.map(({ type }) => type)).toContain("update.completed")
    for (const id of ["event", "control"]) expect(await engine.get(id).result()).toBe("done")

    for (const id of ["start", "update"]) await engine.get(id).sendEvent("go")
    await dispatch(engine)
    expect(await engine.get("start").result()).toBe("done")
    expect(await engine.get("update").result()).toBe("done noted")
  })

  it("leaves the parent of a child whose end it recorded in a tick", async () => {
    const before = await open()
    await before.start(parent, { id: "parent" })
    await dispatch(before)
    await before.get("child").sendEvent("go")
    await before.close()

    await killedAt("child")
    await using engine = await open()
    expect(await engine.get("parent").status()).not.toBe("completed")
    await dispatch(engine)
    expect(await engine.get("parent").result()).toBe("done")
  })
})

it("a process that is killed in the middle of a tick leaves its instances to the next one", async () => {
  const before = await open()
  await before.start(job, { id: "a" })
  await before.get("a").sendEvent("go")
  await before.close()

  await killedAt("attempt")
  await using engine = await open()
  expect((await engine.tick()).processed).toBe(1)
  await dispatch(engine)
  expect(await engine.get("a").result()).toBe("done")
})
