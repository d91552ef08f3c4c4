// A client of an unreliable HTTP API. It does nothing twice and loses nothing. Where it cannot know, it says so.

import { createServer, request as httpRequest } from "node:http"
import type { AddressInfo } from "node:net"
import fc from "fast-check"
import { type Change, type Context, workflow } from "perdure"
import { connect, type ConnectOptions, PerdureError } from "perdure/client"
import { serve } from "perdure/http"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { RemoteClient } from "../src/http-client/remote-client.ts"
import { type Fault, FaultyNetwork, TestPace } from "./faulty-network.ts"

const echo = workflow("echo", async (ctx: Context, input: unknown) => ctx.do("say", () => input))
const collecting = workflow("collecting", async (ctx: Context<{ word: string; end: undefined }>) => {
  const words: string[] = []
  ctx.onEvent("word", (word) => void words.push(word))
  ctx.setUpdateHandler("add", (word: string) => words.push(word))
  await ctx.waitForEvent("end")
  return words
})
const once = workflow("once", async (ctx: Context<{ word: string }>) => ctx.waitForEvent("word"))

let engine: TestEngine
let network: FaultyNetwork
let pace: TestPace
let client: RemoteClient

const open = async (retryFor: ConnectOptions["retryFor"] & string = "20s") => {
  engine = await createTestEngine({ workflows: [echo, collecting, once] })
  network = new FaultyNetwork(engine.current)
  pace = new TestPace()
  client = new RemoteClient("http://perdure.test/api/..", { fetch: network.fetch, retryFor }, pace)
}

beforeEach(() => open())
afterEach(async () => {
  await client.close()
  await engine.close()
})

const times = (fault: Fault, count: number) => Array.from({ length: count }, () => fault)
const count = async () => Object.values(await engine.count({}, "status")).reduce((sum, one) => sum + one, 0)

describe("what is safe to send again", () => {
  const faults: readonly Fault[] = ["refused", "reset", "unavailable", "broken"]

  it.each(faults)("is started once although it is sent again: %s", async (fault) => {
    network.faults = times(fault, 3)
    const handle = await client.start(echo, { id: "mine", input: 1 })
    network.faults = times(fault, 2)
    expect(await handle.result()).toBe(1)
    network.faults = times(fault, 2)
    expect((await client.start(echo, { input: 2 })).id).not.toBe("mine")
    expect(await count()).toBe(2)
    expect(network.seen.filter((one) => one === "POST /workflows")).toHaveLength(4 + 3)
  })

  it("an id that another start has is an error, also when it is asked for again", async () => {
    await engine.start(echo, { id: "taken", input: 1 })
    await engine.settle()
    network.faults = ["reset", "broken"]
    await expect(client.start(echo, { id: "taken", input: 1 })).rejects.toMatchObject({ code: "ID_EXISTS" })
    network.faults = ["reset"]
    expect(
      await client.startBatch([
        { workflow: echo, id: "a", input: 1 },
        { workflow: echo, id: "taken", input: 1 },
      ]),
    ).toMatchObject([
      { id: "a", created: true },
      { id: "taken", created: false, error: { code: "ID_EXISTS" } },
    ])
    network.faults = ["reset"]
    expect((await client.fork("taken", { id: "f" })).id).toBe("f")
    network.faults = ["reset"]
    await expect(client.fork("taken", { id: "f" })).rejects.toMatchObject({ code: "ID_EXISTS" })
  })

  it.each(faults)("an event is received once: %s", async (fault) => {
    const handle = await client.start(collecting, { id: "c" })
    for (const word of ["a", "b", "c"]) {
      network.faults = times(fault, 2)
      await handle.sendEvent("word", word)
    }
    await handle.sendEvent("end")
    expect(await handle.result()).toEqual(["a", "b", "c"])
  })

  it("an event that ended the instance before its acknowledgement got lost is no error; one that came too late is", async () => {
    const handle = await client.start(once, { id: "o" })
    await engine.settle()
    network.faults = ["reset"]
    const sending = handle.sendEvent("word", "last")
    await engine.settle()
    await sending
    expect(await handle.result()).toBe("last")
    network.faults = ["refused", "reset"]
    await expect(handle.sendEvent("word", "late")).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
    network.faults = ["reset"]
    const started = client.sendOrStart(once, { id: "p", event: "word", payload: "first" })
    await engine.settle()
    expect(await (await started).result()).toBe("first")
  })

  it("controls say that they were accepted, and a delete that it is gone", async () => {
    const handle = await client.start(collecting, { id: "c" })
    await engine.settle()
    for (const control of ["pause", "resume", "cancel"] as const) {
      network.faults = ["reset"]
      const asked = handle[control]()
      await engine.settle()
      expect(await asked).toMatchObject({ id: "c", accepted: true })
    }
    const other = await client.start(collecting, { id: "t" })
    network.faults = ["reset"]
    expect(await other.terminate()).toMatchObject({ accepted: true, status: "terminated" })
    expect(await other.terminate()).toMatchObject({ accepted: false })
    network.faults = ["reset"]
    await other.delete()
    await expect(other.delete()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })

  it.each(["DATABASE_BUSY", "ENGINE_CLOSED", "SHARD_FAILED", "STORE_UNREACHABLE"])(
    "is sent again where the server's store is away for a moment: %s",
    async (code) => {
      network.faults = times({ code }, 3)
      const handle = await client.start(echo, { id: "mine", input: 1 })
      network.faults = times({ code }, 2)
      expect(await handle.result()).toBe(1)
      network.faults = times({ code }, 2)
      expect((await client.list()).instances.map(({ id }) => id)).toEqual(["mine"])
    },
  )

  it("goes on after an answer that does not come", async () => {
    network.faults = ["silent"]
    const started = client.start(echo, { id: "slow", input: 1 })
    await engine.settle()
    pace.runOut()
    expect((await started).id).toBe("slow")
    expect(await count()).toBe(1)
  })
})

describe("what is not", () => {
  it("is not sent again where it may have been carried out, and says that nobody knows", async () => {
    const handle = await client.start(collecting, { id: "c" })
    for (const ask of [() => handle.update("add", "x"), () => handle.restart()]) {
      network.faults = ["reset"]
      const error = await ask().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: "UNREACHABLE", details: { isUnknown: true, url: "http://perdure.test" } })
      await engine.settle()
    }
    expect((await handle.describe()).run).toBe(2)
    network.faults = ["refused", "refused"]
    const answer = handle.update("add", "y")
    await engine.settle()
    expect(await answer).toBe(1)
  })

  it("an update that is kept, but has no answer yet, does not pretend to have one", async () => {
    await using server = await serve(engine.current, { port: 0, resultWaitMax: 1 })
    await using remote = connect(server.url)
    await engine.start(collecting, { id: "c" })
    await engine.settle()
    await engine.get("c").pause()
    await engine.settle()
    const error = await remote.update("c", "add", "x").catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: "UNREACHABLE", details: { isUnknown: true }, message: expect.stringContaining("has not answered") as string })
    await engine.get("c").resume()
    await engine.get("c").sendEvent("end")
    expect(await engine.get("c").result()).toEqual(["x"])
  })
})

describe("a server that stays away", () => {
  it("is given up after a while, with its address", async () => {
    network.faults = times("refused", 1_000)
    const error = await client.list().catch((thrown: unknown) => thrown)
    expect(PerdureError.is(error, "UNREACHABLE")).toBe(true)
    expect(error).toMatchObject({
      details: { url: "http://perdure.test" },
      message: expect.stringContaining("http://perdure.test cannot be reached") as string,
    })
    expect(pace.now()).toBeLessThanOrEqual(20_000)
    expect(network.seen.length).toBeGreaterThan(4)
    expect(network.seen.length).toBeLessThan(30)
  })

  it("that is another one is told at once", async () => {
    network.faults = ["html"]
    await expect(client.list()).rejects.toMatchObject({ code: "UNREACHABLE", details: { status: 200 } })
    expect(network.seen).toHaveLength(1)
  })

  it("wants the right token", async () => {
    const guarded = new FaultyNetwork(engine.current, "right")
    const wrong = new RemoteClient("http://perdure.test", { fetch: guarded.fetch, token: "wrong" }, pace)
    await expect(wrong.list()).rejects.toMatchObject({ code: "UNAUTHORIZED" })
    const right = new RemoteClient("http://perdure.test", { fetch: guarded.fetch, token: "right", headers: { "x-own": "1" } }, pace)
    expect((await right.list()).instances).toEqual([])
  })

  it("ends a wait for a result in time, and one without a time when it is given up", async () => {
    const handle = await client.start(collecting, { id: "c" })
    network.faults = times("refused", 1_000)
    await expect(handle.result({ timeout: "5s" })).rejects.toMatchObject({ code: expect.stringMatching(/RESULT_TIMEOUT|UNREACHABLE/) as string })
    await expect(handle.result()).rejects.toMatchObject({ code: "UNREACHABLE" })
  })

  it.each(["", "nonsense", "ftp://a", "http://a?b=1", "http://user@a"])("is no address: %s", (url) => {
    expect(() => connect(url)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})

describe("a stream that breaks", () => {
  it("goes on where it broke off, without a gap and without a repeat, wherever it is cut", async () => {
    for (let i = 0; i < 3; i++) await engine.start(echo, { id: `e-${i}`, input: i })
    await engine.settle()
    // The test below says how soon a client gives up; this client does not.
    const patient = new RemoteClient("http://perdure.test", { fetch: network.fetch, retryFor: "5m" }, pace)
    const wanted = (await take(engine.changes(), 12)).map(({ id }) => id)
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.nat({ max: 4_000 }).map((cut) => ({ cut: cut + 1 })),
            fc.constantFrom<Fault>("refused", "reset", "unavailable"),
          ),
          { maxLength: 9 },
        ),
        async (faults) => {
          network.faults = [...faults]
          const seen = await take(patient.changes(), 12)
          expect(seen.map(({ id }) => id)).toEqual(wanted)
          expect(seen[0]?.at).toBeTypeOf("number")
        },
      ),
      { numRuns: 60 },
    )
    await patient.close()
  })

  it('that began with "latest" misses nothing that happens while it is away', async () => {
    const iterator = client.changes("latest")[Symbol.asyncIterator]()
    network.faults = [{ cut: 40 }]
    const place = await iterator.cursor()
    expect(place).toEqual(expect.any(String))
    await engine.start(echo, { id: "e", input: 1 })
    await engine.settle()
    network.faults = times("reset", 2)
    expect(await iterator.next()).toMatchObject({ value: { instance: "e", type: "workflow.started" } })
    await iterator.return()
  })

  it("is given up after a while, and can be resumed by its cursor later", async () => {
    await engine.start(echo, { id: "e", input: 1 })
    await engine.settle()
    const iterator = client.changes()[Symbol.asyncIterator]()
    const first = await iterator.next()
    // The client first reads the open connection to its end.
    network.faults = times("refused", 1_000)
    const rest = async () => {
      for (let i = 0; i < 3; i++) await iterator.next()
    }
    await rest()
    await client.close()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    const other = new RemoteClient("http://perdure.test", { fetch: network.fetch, retryFor: "5s" }, pace)
    const again = other.changes(first.value?.cursor)[Symbol.asyncIterator]()
    await expect(again.next()).rejects.toMatchObject({ code: "UNREACHABLE" })
    network.faults = []
    expect((await take(other.changes(first.value?.cursor), 3)).map(({ type }) => type)).toEqual(["step.started", "step.completed", "workflow.completed"])
  })
})

describe("a client that is closed", () => {
  it("ends what is under way, and takes no more", async () => {
    const handle = await client.start(collecting, { id: "c" })
    await engine.settle()
    const result = handle.result().catch((error: unknown) => error)
    const iterator = client.changes("latest")[Symbol.asyncIterator]()
    const waiting = iterator.next()
    await iterator.cursor()
    await client.close()
    expect(await result).toMatchObject({ code: "ENGINE_CLOSED" })
    expect(await waiting).toEqual({ done: true, value: undefined })
    await expect(client.list()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
    await expect(client.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
  })
})

describe("any number of faults", () => {
  const fault = fc.option(fc.constantFrom<Fault>("refused", "reset", "unavailable", "broken"), { nil: undefined })

  it("start each instance once, deliver each event once, and leave no change out", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 60 }), async (faults) => {
        await client.close()
        await engine.close()
        await open("1h")
        network.faults = [...faults]
        const handle = await client.start(collecting, { id: "c" })
        const ids = new Set<string>()
        for (let i = 0; i < 4; i++) {
          ids.add((await client.start(echo, { input: i })).id)
          await handle.sendEvent("word", `${i}`)
        }
        await handle.sendEvent("end")
        await engine.settle()
        expect(await handle.result()).toEqual(["0", "1", "2", "3"])
        expect(ids.size).toBe(4)
        expect(await count()).toBe(5)
        const seen = await take(client.changes(), 4 * 4 + 2 + 10)
        expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
      }),
      { numRuns: 40 },
    )
  }, 60_000)
})

describe("over real sockets", () => {
  it("a connection that is cut off after the request was carried out starts nothing twice", async () => {
    await using server = await serve(engine.current, { port: 0, log: { error: () => undefined } })
    let cuts = 2
    const proxy = createServer((incoming, outgoing) => {
      const forwarded = httpRequest(
        `${server.url}${incoming.url}`,
        { method: incoming.method, headers: { ...incoming.headers, host: `127.0.0.1:${server.port}` } },
        (answer) => {
          if (incoming.method === "POST" && cuts-- > 0) return void incoming.socket.destroy()
          outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
          answer.pipe(outgoing)
        },
      )
      incoming.pipe(forwarded)
    })
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
    const real = new RemoteClient(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, {}, pace)
    const handle = await real.start(echo, { id: "mine", input: 1 })
    await engine.settle()
    expect(await handle.result()).toBe(1)
    expect(cuts).toBeLessThanOrEqual(0)
    expect(await count()).toBe(1)
    await real.close()
    await new Promise<void>((resolve) => {
      proxy.close(() => resolve())
      proxy.closeAllConnections()
    })
  })
})

async function take(changes: AsyncIterable<Change>, limit: number): Promise<readonly Change[]> {
  const taken: Change[] = []
  for await (const change of changes) if (taken.push(change) === limit) break
  return taken
}
