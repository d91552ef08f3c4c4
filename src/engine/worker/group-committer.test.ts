import { describe, expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import type { Logger } from "../../ports/host.ts"
import type { JournalStore, Turn } from "../../ports/journal-store.ts"
import { GroupCommitter, type CommitResult } from "./group-committer.ts"

const lines: string[] = []
const note = (message: string, data?: Record<string, unknown>) => void lines.push(`${message}: ${String(data?.["error"])}`)
const log: Logger = { debug: note, info: note, warn: note, error: note }

const turn = (instance: string): Turn => ({
  turn: `${instance}.1`,
  instance,
  incarnation: instance,
  follows: undefined,
  position: 1,
  count: 1,
  run: 1,
  at: 0,
  entries: "[]",
})

/** A store whose commits end when the test says so. */
function slowStore() {
  const batches: string[][] = []
  const waiting: (() => void)[] = []
  let refuse: (ids: readonly string[]) => boolean = () => false
  const journal = {
    commit: async (turns: readonly Turn[]) => {
      const ids = turns.map(({ instance }) => instance)
      batches.push(ids)
      await new Promise<void>((resolve) => waiting.push(resolve))
      if (refuse(ids)) throw new Error(`no room for ${ids.join(",")}`)
      return turns.map(({ instance }) => (instance.startsWith("lost") ? ("lost" as const) : ("committed" as const)))
    },
  } as unknown as JournalStore
  const finish = async () => {
    waiting.shift()?.()
    for (let hop = 0; hop < 10; hop++) await Promise.resolve()
  }
  return { journal, batches, finish, refuseIf: (test: typeof refuse) => (refuse = test) }
}

describe("the committer", () => {
  it("writes ready turns in one batch, and gathers the next batch meanwhile", async () => {
    const { journal, batches, finish } = slowStore()
    const committer = new GroupCommitter(journal, () => undefined, log)
    const results: [string, CommitResult][] = []
    const submit = (id: string) => committer.submit(turn(id), { onResult: (result) => void results.push([id, result]) })
    submit("a")
    submit("lost-b")
    committer.flush()
    submit("c")
    committer.flush()
    submit("d")
    expect(batches).toEqual([["a", "lost-b"]])
    await finish()
    expect(results).toEqual([
      ["a", "committed"],
      ["lost-b", "lost"],
    ])
    committer.flush()
    expect(batches[1]).toEqual(["c", "d"])
    await finish()
    expect(committer.idle).toBe(true)
    expect(results).toHaveLength(4)
  })

  it("writes many turns a few hundred at a time, in their order", async () => {
    const { journal, batches, finish } = slowStore()
    const committer = new GroupCommitter(journal, () => undefined, log)
    const ids = Array.from({ length: 1_100 }, (_, index) => `i${index}`)
    for (const id of ids) committer.submit(turn(id), { onResult: () => undefined })
    for (let left = 3; left > 0; left--) {
      committer.flush()
      await finish()
    }
    expect(batches.map(({ length }) => length)).toEqual([512, 512, 76])
    expect(batches.flat()).toEqual(ids)
    expect(committer.idle).toBe(true)
  })

  it("splits a failed batch until the failing turn is alone", async () => {
    const { journal, batches, finish, refuseIf } = slowStore()
    refuseIf((ids) => ids.includes("bad"))
    const committer = new GroupCommitter(journal, () => undefined, log)
    const results = new Map<string, CommitResult>()
    for (const id of ["a", "b", "bad", "c", "d"]) committer.submit(turn(id), { onResult: (result) => void results.set(id, result) })
    committer.flush()
    while (!committer.idle) await finish()
    expect(results.get("bad")).toEqual({ error: expect.objectContaining({ message: "no room for bad" }) as unknown })
    for (const id of ["a", "b", "c", "d"]) expect(results.get(id)).toBe("committed")
    expect(batches.length).toBeLessThanOrEqual(7)
  })

  it.each(["DATABASE_BUSY", "DATABASE_GONE", "STORE_UNREACHABLE"] as const)("does not split a batch if the whole store fails (%s)", async (code) => {
    const error = new PerdureError(code, "not now")
    let calls = 0
    const journal = { commit: async () => (calls++, Promise.reject(error)) } as unknown as JournalStore
    const committer = new GroupCommitter(journal, () => undefined, log)
    const results: CommitResult[] = []
    for (const id of ["a", "b", "c"]) committer.submit(turn(id), { onResult: (result) => void results.push(result) })
    committer.flush()
    await committer.whenIdle()
    expect(results).toEqual([{ error }, { error }, { error }])
    expect(calls).toBe(1)
  })

  it("schedules a run when a turn is ready and nothing is being written", async () => {
    const { journal, finish } = slowStore()
    let armed = 0
    const committer = new GroupCommitter(journal, () => armed++, log)
    committer.submit(turn("a"), { onResult: () => undefined })
    expect(armed).toBe(1)
    committer.flush()
    committer.submit(turn("b"), { onResult: () => undefined })
    expect(armed).toBe(1)
    await finish()
    expect(armed).toBe(2)
  })

  it("continues with the other turns and the next batch when the listener of a turn throws", async () => {
    const { journal, finish } = slowStore()
    const committer = new GroupCommitter(journal, () => undefined, log)
    const results: string[] = []
    committer.submit(turn("a"), {
      onResult: () => {
        throw new Error("a flaw")
      },
    })
    committer.submit(turn("b"), { onResult: () => void results.push("b") })
    committer.flush()
    await finish()
    committer.submit(turn("c"), { onResult: () => void results.push("c") })
    committer.flush()
    await finish()
    expect(results).toEqual(["b", "c"])
    expect(committer.idle).toBe(true)
    expect(lines).toEqual(['the reaction of instance "a" to the result of its turn failed: Error: a flaw'])
  })

  it("drops the queued turns when it is abandoned", async () => {
    const { journal, batches } = slowStore()
    const committer = new GroupCommitter(journal, () => undefined, log)
    const results: CommitResult[] = []
    committer.submit(turn("a"), { onResult: (result) => void results.push(result) })
    committer.abandon()
    committer.submit(turn("b"), { onResult: (result) => void results.push(result) })
    committer.flush()
    expect(batches).toEqual([])
    expect(results).toEqual([])
  })

  describe("on a store that writes several batches at once", () => {
    const sizes = (batches: readonly (readonly string[])[]) => batches.map(({ length }) => length)

    function opened() {
      const { journal, batches, finish } = slowStore()
      let armed = 0
      const committer = new GroupCommitter(
        journal,
        () => armed++,
        log,
        () => false,
        2,
      )
      const submit = (count: number, name: string) => {
        for (let i = 0; i < count; i++) committer.submit(turn(`${name}${i}`), { onResult: () => undefined })
      }
      return { committer, batches, finish, submit, armed: () => armed }
    }

    it("few turns wait for the current batch, many turns do not, and the number of batches is bounded", async () => {
      const { committer, batches, finish, submit } = opened()
      submit(1, "a")
      committer.flush()
      submit(31, "b")
      committer.flush()
      expect(sizes(batches)).toEqual([1])
      submit(1, "c")
      committer.flush()
      expect(sizes(batches)).toEqual([1, 32])
      submit(100, "d")
      committer.flush()
      expect(sizes(batches)).toEqual([1, 32])
      expect(committer.underWay).toBe(133)
      await finish()
      committer.flush()
      expect(sizes(batches)).toEqual([1, 32, 100])
    })

    it("many turns are cut into concurrent batches, in their order", async () => {
      const { committer, batches, finish, submit } = opened()
      submit(600, "a")
      committer.flush()
      expect(sizes(batches)).toEqual([256, 256])
      await finish()
      committer.flush()
      expect(sizes(batches)).toEqual([256, 256, 88])
      expect(batches.flat()).toEqual(Array.from({ length: 600 }, (_, i) => `a${i}`))
      await finish()
      await finish()
      expect(committer.idle).toBe(true)
    })

    it("a run is scheduled as soon as a further batch may be sent", async () => {
      const { committer, finish, submit, armed } = opened()
      submit(1, "a")
      committer.flush()
      submit(31, "b")
      expect(armed()).toBe(1)
      submit(1, "c")
      expect(armed()).toBe(2)
      committer.flush()
      submit(3, "d")
      await finish()
      expect(armed()).toBe(2)
      await finish()
      expect(armed()).toBe(3)
    })
  })
})
