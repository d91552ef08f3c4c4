// The server of examples/getting-started as `npm start` runs it, tested over HTTP. Needs a build: it imports the package by its name.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { acceptTest, becomes, call } from "../http-acceptance.ts"

const program = fileURLToPath(new URL("../../examples/getting-started/server.ts", import.meta.url))

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-serve-"))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

class ServerProcess {
  output = ""
  readonly #child: ChildProcess

  constructor(database: string, environment: Record<string, string> = {}) {
    const { PORT: _, HOST: __, TOKEN: ___, ...inherited } = process.env
    this.#child = spawn(process.execPath, [program, "--database", join(folder, database)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...inherited, PORT: "0", ...environment },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (data: Buffer) => (this.output += data.toString()))
  }

  async url(): Promise<string> {
    for (;;) {
      const found = /running at (http:\S+)\n/.exec(this.output)?.[1]
      if (found !== undefined) return found
      if (this.#child.exitCode !== null) throw new Error(`it ended:\n${this.output}`)
      const ended = new AbortController()
      await Promise.race([once(this.#child.stdout ?? this.#child, "data", ended), once(this.#child, "close", ended)])
      ended.abort()
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

it("a workflow is started, sleeps, waits, is approved and completes, all over HTTP", async () => {
  const server = new ServerProcess("whole.db")
  const url = await server.url()
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(server.output).toContain(`curl -s '${url}/workflows'`)
  await acceptTest(url, { listedBefore: ["hello-test-1"] })
  server.kill("SIGTERM")
  expect(await server.exits()).toBe(0)
  expect(server.output).toContain("the next `npm start` goes on from here")
  expect(server.output, "no escape sequences without a terminal").not.toContain("\u001b")
})

it("a second start on the same file goes on with what a killed one left", async () => {
  const first = new ServerProcess("again.db")
  const firstUrl = await first.url()
  await call(firstUrl, "/workflows", { type: "order", id: "mine", payload: { items: ["lamp"] } })
  await becomes(firstUrl, "/workflows/mine", "waiting", 15_000)
  first.kill("SIGKILL")
  expect(await first.exits()).toBe("SIGKILL")
  const second = new ServerProcess("again.db")
  const url = await second.url()
  expect(await call(url, "/workflows/mine")).toMatchObject([200, { status: "waiting", run: 1 }])
  await call(url, "/workflows/mine/events/payment", { amount: 129 })
  expect(await becomes(url, "/workflows/mine", "completed", 15_000)).toMatchObject({ result: { status: "shipped", paid: 129 } })
  const [, orders] = await call(url, "/workflows?type=order")
  expect((orders["instances"] as { id: string }[]).map(({ id }) => id)).toEqual(["hello-order-2", "mine", "hello-order-1"])
  second.kill("SIGINT")
  expect(await second.exits()).toBe(0)
})

it("a port that is taken, and an address that is open to others, are said clearly", async () => {
  const first = new ServerProcess("port.db")
  const { port } = new URL(await first.url())
  const second = new ServerProcess("port-2.db", { PORT: port })
  expect(await second.exits()).toBe(1)
  expect(second.output).toBe(`\n  port ${port} of 127.0.0.1 is in use; stop the program that listens there, or choose another port\n\n`)
  const open = new ServerProcess("open.db", { HOST: "0.0.0.0" })
  expect(await open.exits()).toBe(1)
  expect(open.output).toContain("set token or authorize")
  const guessable = new ServerProcess("guessable.db", { HOST: "0.0.0.0", TOKEN: "a-secret" })
  expect(await guessable.exits()).toBe(1)
  expect(guessable.output).toContain("use at least 16 random characters")
  const token = "a-token-that-is-long"
  const guarded = new ServerProcess("guarded.db", { HOST: "0.0.0.0", TOKEN: token })
  const url = (await guarded.url()).replace("0.0.0.0", "127.0.0.1")
  expect((await call(url, "/workflows"))[0]).toBe(401)
  const allowed = await fetch(`${url}/workflows`, { headers: { authorization: `Bearer ${token}` } })
  expect(allowed.status).toBe(200)
  for (const server of [first, guarded]) {
    server.kill("SIGINT")
    expect(await server.exits()).toBe(0)
  }
})
