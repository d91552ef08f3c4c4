// The program of examples/getting-started as `npm run demo` runs it, but without a terminal. Needs a build: it imports the package by its name.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"

const main = fileURLToPath(new URL("../../examples/getting-started/main.ts", import.meta.url))

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-example-"))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

class Run {
  output = ""
  readonly #child: ChildProcess

  constructor(database: string) {
    this.#child = spawn(process.execPath, [main, "--database", join(folder, database)], { stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (data: Buffer) => (this.output += data.toString()))
  }

  async prints(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended without printing ${JSON.stringify(text)}:\n${this.output}`)
      await once(this.#child.stdout ?? this.#child, "data")
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async exits(): Promise<number | NodeJS.Signals> {
    const [code, signal] = (await once(this.#child, "close")) as [number | null, NodeJS.Signals | null]
    return code ?? signal ?? -1
  }
}

it("the example runs by itself, prints its results and exits with 0", async () => {
  const run = new Run("whole.db")
  expect(await run.exits()).toBe(0)
  expect(run.output).toContain(`{"message":"World was approved","greeting":"Hello, World!"}`)
  expect(run.output).toContain(`"status":"shipped","paid":129`)
  expect(run.output).toContain("attempt 1 failed: the carrier is busy")
  expect(run.output, "no escape sequences without a terminal").not.toContain("\u001b")
})

it("the example goes on after SIGKILL, stops in good order on SIGINT, and goes on again", async () => {
  const killed = new Run("killed.db")
  await killed.prints("payment    done")
  killed.kill("SIGKILL")
  expect(await killed.exits()).toBe("SIGKILL")

  const stopped = new Run("killed.db")
  await stopped.prints("picked up 2 unfinished instances: test-1, order-1")
  await stopped.prints("attempt 1 failed")
  stopped.kill("SIGINT")
  expect(await stopped.exits()).toBe(0)
  expect(stopped.output).toContain("the next `npm run demo` goes on from here")

  const last = new Run("killed.db")
  expect(await last.exits()).toBe(0)
  expect(last.output).toContain("picked up 2 unfinished instances")
  expect(last.output).toContain(`{"message":"World was approved","greeting":"Hello, World!"}`)
  expect(last.output).toContain("3 attempts")
})
