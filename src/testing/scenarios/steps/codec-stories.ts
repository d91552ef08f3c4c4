import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { isHidden } from "../../../core/values/redaction.ts"
import type { PayloadCodec } from "../../../core/values/payload-codecs.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { StoreProvider } from "../../../ports/store.ts"
import { createTestEngine, expectReplay, type TestEngine } from "../../test-engine.ts"
import { Gate } from "../gate.ts"
import type { BedOptions, OpenBed } from "../scenario-bed.ts"

const secret = "s3cret"

/** Makes text unrecognisable, and differently each time, as a cipher does. */
function masking(id: string): PayloadCodec & { calls: number } {
  let salt = 1
  return {
    id,
    calls: 0,
    encode(bytes) {
      this.calls++
      salt = (salt * 31) % 251 || 1
      return Uint8Array.from([salt, ...bytes.map((byte) => byte ^ salt)])
    },
    decode: ([first = 0, ...rest]) => Uint8Array.from(rest, (byte) => byte ^ first),
  }
}

export function codecStories(open: OpenBed): void {
  /** An engine, its store, and all text that was ever written to the store. */
  const openWatched = async (options: BedOptions) => {
    const written: string[] = []
    let shared: StoreProvider | undefined
    const engine = await open({
      ...options,
      wrap: (provider) => {
        shared = provider
        return {
          name: provider.name,
          open: async (context) => {
            const store = await provider.open(context)
            const note = <A extends readonly unknown[], R>(method: (...args: A) => R) => {
              return (...args: A): R => {
                written.push(JSON.stringify(args))
                return method(...args)
              }
            }
            const { journal, directory, schedules } = store
            const watched = <T extends object>(port: T, methods: Partial<T>): T =>
              new Proxy(port, {
                get: (target, name) => {
                  const method: unknown = Object.hasOwn(methods, name) ? methods[name as keyof T] : Reflect.get(target, name)
                  return typeof method === "function" ? (...args: unknown[]) => Reflect.apply(method, target, args) as unknown : method
                },
              })
            return watched(store, {
              journal: watched(journal, { commit: note((turns) => journal.commit(turns)) }),
              directory: watched(directory, {
                deliver: note((messages) => directory.deliver(messages)),
                deliverOrCreate: note((message, create) => directory.deliverOrCreate(message, create)),
              }),
              schedules: watched(schedules, { write: note((change) => schedules.write(change)) }),
            })
          },
        }
      },
    })
    return { engine, written, store: shared as StoreProvider }
  }

  const child = workflow("child", async (_ctx, input: string) => `${input} of a child`)
  const flow = workflow("flow", async (ctx: Context<{ word: string; late: string }>, input: { text: string }) => {
    ctx.setMemo("note", input.text)
    ctx.setUpdateHandler("echo", (text: string) => `${text}!`)
    const step = await ctx.do("step", () => new Set([input.text]))
    const word = await ctx.waitForEvent("word")
    const failed = await ctx.do("fail", () => Promise.reject(new RangeError(input.text)), { retry: { maxAttempts: 1 } }).catch((error: Error) => error.message)
    const told = await ctx.runChild(child, { id: "child", input: input.text })
    const late = await ctx.waitForEvent("late")
    return { step, word, failed, told, late }
  })
  const result = {
    step: new Set([secret]),
    word: `${secret} word`,
    failed: `step "fail" failed after 1 attempt: ${secret}`,
    told: `${secret} of a child`,
    late: `${secret} late`,
  }

  const play = async (engine: TestEngine) => {
    const handle = await engine.start(flow, { id: "i", input: { text: secret } })
    await engine.sendEvent("i", "word", `${secret} word`)
    await engine.settle()
    return handle
  }

  /** A second engine on the same store, like another process or a later one. */
  const openOther = (engine: TestEngine, store: StoreProvider, options: Partial<BedOptions>) =>
    Engine.open({ host: engine.host, store, workflows: [flow, child], options, role: "client" })

  describe("a payload codec", () => {
    it("nothing of a value reaches the store as it is, and all goes on as without it, also after a crash", async () => {
      const codec = masking("mask-1")
      const { engine, written } = await openWatched({ workflows: [flow, child], codec })
      const handle = await play(engine)
      expect(await handle.update("echo", secret)).toBe(`${secret}!`)
      await engine.schedules.create("s", { workflow: child, input: secret, every: "1h" })
      expect((await engine.schedules.get("s").describe()).input).toBe(secret)
      await engine.crash()
      await engine.skip("1h")
      await engine.sendEvent("i", "late", `${secret} late`)
      expect(await handle.result()).toEqual(result)
      const [scheduled] = (await engine.list({ workflow: "child", order: "newest" })).instances
      expect(await engine.get(scheduled?.id ?? "").result()).toBe(`${secret} of a child`)
      expect(await handle.describe()).toMatchObject({ input: { text: secret }, result, memo: { note: secret } })
      expect((await handle.steps())[0]).toMatchObject({ result: new Set([secret]) })
      expect(JSON.stringify((await engine.list({ workflow: "flow" })).instances)).toContain(secret)
      expect(written.length).toBeGreaterThan(10)
      expect(written.join()).toContain("mask-1:")
      expect(written.join()).not.toContain(secret)
    })

    it("a run that goes on as new, a restart from a step and a fork keep values as they are encoded", async () => {
      const loop = workflow("loop", async (ctx: Context<{ word: string }>, input: { text: string; round: number }): Promise<unknown> => {
        ctx.setMemo("round", input.round)
        if (input.round === 1) return ctx.continueAsNew({ text: input.text, round: 2 })
        const one = await ctx.do("one", () => input.text)
        const word = await ctx.waitForEvent("word")
        return [one, word, await ctx.do("two", () => input.round)]
      })
      const { engine, written } = await openWatched({ workflows: [loop], codec: masking("mask-1") })
      const handle = await engine.start(loop, { id: "i", input: { text: secret, round: 1 } })
      await engine.sendEvent("i", "word", `${secret} word`)
      const expected = [secret, `${secret} word`, 2]
      expect(await handle.result()).toEqual(expected)
      await engine.settle()
      await handle.fork({ id: "j", from: "two" })
      await handle.restart({ from: "two" })
      await engine.settle()
      expect(await handle.result()).toEqual(expected)
      expect(await engine.get("j").result()).toEqual(expected)
      expect((await engine.get("j").describe()).memo).toEqual({ round: 2 })
      expect(written.join()).not.toContain(secret)
    })

    it("after a change of keys, what the old one encoded is read, and what is new is encoded by the new one", async () => {
      const [first, second] = [masking("key-1"), masking("key-2")]
      const { engine, store } = await openWatched({ workflows: [flow, child], codec: first })
      await play(engine)
      await engine.close()
      const before = first.calls
      await using later = await createTestEngine({ workflows: [flow, child], codec: second, retiredCodecs: [first], store, startAt: engine.host.now() })
      await later.settle()
      await later.sendEvent("i", "late", `${secret} late`)
      expect(await later.get("i").result()).toEqual(result)
      expect(first.calls).toBe(before)
      expect(second.calls).toBeGreaterThan(0)
    })

    it("a client without the codec still lists and controls, sees the id of the codec, and gets an error where a value is needed", async () => {
      const { engine, store } = await openWatched({ workflows: [flow, child], codec: masking("mask-1") })
      await play(engine)
      const other = await openOther(engine, store, {})
      const hidden = { $perdure: "encoded", codec: "mask-1" }
      expect((await other.list({ workflow: "flow" })).instances).toMatchObject([{ id: "i", status: "waiting", memo: hidden }])
      const { input, steps } = await other.describe("i")
      expect(input).toEqual(hidden)
      expect(isHidden(input)).toBe(true)
      expect(steps[0]).toMatchObject({ id: "step", status: "completed", result: hidden })
      expect((await other.get("i").history()).entries[0]?.data).toMatchObject({ value: hidden })
      expect((await other.why("i")).because[0]).toContain('wait "late" is for event "late"')
      await engine.sendEvent("i", "late", `${secret} late`)
      await expect(other.get("i").result()).rejects.toMatchObject({ code: "CODEC_MISSING", details: { codec: "mask-1" } })
      const restarted = await other.restart("i")
      expect(restarted.accepted).toBe(true)
      await other.close()
    })

    it("a worker that lacks it, or whose key is another, stalls the instance, which goes on when it is resumed by one that has it", async () => {
      const codec = masking("mask-1")
      const broken: PayloadCodec = {
        ...codec,
        decode: () => {
          throw new Error("wrong key")
        },
      }
      const { engine, store } = await openWatched({ workflows: [flow, child], codec })
      await play(engine)
      await engine.close()
      const trials = [
        { options: {}, code: "CODEC_MISSING" },
        { options: { codec: broken }, code: "CODEC_FAILED" },
      ]
      for (const { options, code } of trials) {
        const without = await createTestEngine({ workflows: [flow, child], ...options, store, startAt: engine.host.now() })
        await without.get("i").sendEvent("late", `${secret} late`)
        await without.settle()
        expect(await without.get("i").describe()).toMatchObject({ status: "stalled", error: { details: { code } } })
        await without.close()
        await using right = await createTestEngine({ workflows: [flow, child], codec, store, startAt: engine.host.now() })
        await right.get("i").resume()
        await right.settle()
        expect(await right.get("i").result()).toMatchObject({ word: `${secret} word` })
        await right.get("i").restart({ from: "late" })
        await right.settle()
      }
    })

    it("one that cannot encode what a step gave stalls the instance; once it can, the step is done again", async () => {
      const gate = new Gate()
      let isBroken = false
      const mask = masking("mask-1")
      const codec: PayloadCodec = { ...mask, encode: (bytes) => mask.encode(isBroken ? (undefined as never) : bytes) }
      const slow = workflow("slow", async (ctx, input: string) =>
        ctx.do("s", async () => {
          await gate.passed
          return `${input} ${secret}`
        }),
      )
      const { engine, written } = await openWatched({ workflows: [slow], codec })
      const handle = await engine.start(slow, { id: "i", input: "a" })
      await engine.settle()
      isBroken = true
      gate.open()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "stalled", error: { details: { code: "CODEC_FAILED" } } })
      isBroken = false
      await handle.resume()
      expect(await handle.result()).toBe(`a ${secret}`)
      expect(written.join()).not.toContain(secret)
    })

    it("one that cannot encode the end of a child for its parent stalls the child; once it can, both go on", async () => {
      const mask = masking("mask-1")
      let times = 0
      const codec: PayloadCodec = {
        ...mask,
        encode: (bytes) => {
          if (new TextDecoder().decode(bytes) === '"the end"' && ++times === 2) throw new Error("no key at hand")
          return mask.encode(bytes)
        },
      }
      const young = workflow("young", async () => "the end")
      const old = workflow("old", async (ctx) => (await ctx.startChild(young, { id: "young" })).result())
      const { engine } = await openWatched({ workflows: [old, young], codec })
      const handle = await engine.start(old, { id: "old" })
      await engine.settle()
      expect([await engine.get("young").status(), await handle.status()]).toEqual(["stalled", "waiting"])
      await engine.get("young").resume()
      await engine.settle()
      expect(await handle.status()).toBe("completed")
    })

    it("one that cannot encode refuses starts and events; nothing is stored as it is", async () => {
      let isBroken = false
      const mask = masking("mask-1")
      const codec: PayloadCodec = {
        ...mask,
        encode: (bytes) => {
          if (isBroken) throw new Error("no key at hand")
          return mask.encode(bytes)
        },
      }
      const { engine, written } = await openWatched({ workflows: [flow, child], codec })
      const handle = await engine.start(flow, { id: "i", input: { text: secret } })
      await engine.settle()
      isBroken = true
      await expect(engine.start(flow, { id: "j", input: { text: secret } })).rejects.toMatchObject({ code: "CODEC_FAILED" })
      await expect(handle.sendEvent("word", secret)).rejects.toMatchObject({ code: "CODEC_FAILED" })
      isBroken = false
      await handle.sendEvent("word", `${secret} word`)
      await engine.sendEvent("i", "late", `${secret} late`)
      expect(await handle.result()).toEqual(result)
      expect(written.join()).not.toContain(secret)
      // The refused start leaves nothing behind that could refuse a later one.
      expect(engine.current.components.worker.residents.size).toBe(0)
    })

    it("large values, and marks of sensitive ones, go through it", async () => {
      const large = workflow("large", { sensitive: { result: true } }, async (ctx) => ctx.do("s", () => secret.repeat(100_000)))
      const { engine, written } = await openWatched({ workflows: [large], codec: masking("mask-1") })
      const handle = await engine.start(large, { id: "i" })
      expect(await handle.result()).toBe(secret.repeat(100_000))
      await engine.settle()
      expect((await handle.describe()).result).toEqual({ $perdure: "redacted" })
      expect((await handle.steps())[0]?.result).toBe(secret.repeat(100_000))
      expect(written.join()).not.toContain(secret)
    })

    it("ifExists: return recognises the same input, although it is encoded in another way", async () => {
      const { engine } = await openWatched({ workflows: [child], codec: masking("mask-1") })
      await engine.start(child, { id: "i", input: "a" })
      expect((await engine.start(child, { id: "i", input: "a", ifExists: "return" })).id).toBe("i")
      await expect(engine.start(child, { id: "i", input: "b", ifExists: "return" })).rejects.toMatchObject({ code: "ID_CONFLICT" })
    })

    it("a journal that was kept is replayed with the codec", async () => {
      const codec = masking("mask-1")
      const { engine } = await openWatched({ workflows: [flow, child], codec })
      await play(engine)
      const kept = JSON.parse(JSON.stringify(await engine.journal("i"))) as Awaited<ReturnType<typeof engine.journal>>
      expect(JSON.stringify(kept)).not.toContain(secret)
      expect((await expectReplay(kept, flow, { codec })).asked).toEqual([])
      await expect(expectReplay(kept, flow)).rejects.toMatchObject({ code: "CODEC_MISSING" })
    })

    it("invalid codecs are refused", async () => {
      const mask = masking("mask-1")
      for (const codec of [{ ...mask, id: "a:b" }, { ...mask, id: "" }, { id: "x", encode: 1, decode: 2 }, null])
        await expect(open({ workflows: [], codec: codec as never })).rejects.toMatchObject({ code: "BAD_OPTION" })
      await expect(open({ workflows: [], codec: mask, retiredCodecs: [masking("mask-1")] })).rejects.toMatchObject({ code: "BAD_OPTION" })
      const engine = await open({ workflows: [child], codec: { ...mask, encode: async (bytes: Uint8Array) => bytes } as never })
      await expect(engine.start(child, { input: "a" })).rejects.toMatchObject({
        code: "CODEC_FAILED",
        message: expect.stringContaining("synchronous") as string,
      })
    })
  })
}
