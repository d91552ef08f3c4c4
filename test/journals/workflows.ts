// The workflows of the golden journals. Never edit a workflow here: its journals need the code that recorded them. Add another one.

import { type Context, type PayloadCodec, workflow } from "../../src/index.ts"

interface Letters {
  letter: { readonly text: string }
}

/** Plain and rich values, a retried attempt, repeated names and names with special characters, a sleep, waits, and seeded random values. */
export const everyday = workflow(
  "everyday",
  { retry: { initialInterval: "1s", jitter: 0 } },
  async (ctx: Context<Letters>, input: { readonly since: Date }) => {
    const plain = await ctx.do("plain", () => ({ list: [1, "two", null], on: true }))
    const rich = await ctx.do(
      "rich",
      () =>
        new Map<string, unknown>([
          ["since", input.since],
          ["count", 12n],
          ["set", new Set([1, undefined])],
        ]),
    )
    const nothing = await ctx.do("nothing", () => undefined)
    const again = await ctx.do("plain", ({ attempt }) => {
      if (attempt === 1) throw new RangeError("not yet")
      return attempt
    })
    const odd = await ctx.do("50% of a/b #1", () => 'quoted " and \\ and \u2028')
    await ctx.sleep("nap", "90s")
    const first = await ctx.waitForEvent("letter")
    const second = await ctx.waitForEvent("reply", { type: "letter", timeout: "1h" })
    const third = await ctx.waitForEvent("last", { type: "letter", timeout: "1h", default: { text: "none came" } })
    const drawn = [ctx.random(), ctx.uuid(), ctx.now(), ctx.currentStep]
    return { plain, rich, nothing, again, odd, letters: [first.text, second.text, third.text], drawn }
  },
)

/** The journal says which branch wins a race, and in which order parallel steps ended. */
export const parallel = workflow("parallel", async (ctx) => {
  const order: string[] = []
  const note = (name: string) => ctx.do(name, ({ step }) => step.sleep("busy", name === "slow" ? "3s" : "1s")).then(() => void order.push(name))
  const all = Promise.all([note("slow"), note("quick"), note("quick")])
  const winner = await Promise.race([ctx.sleep("two seconds", "2s").then(() => "sleep"), all.then(() => "steps")])
  await all
  const settled = await Promise.allSettled([
    ctx.do("fine", () => 1),
    ctx.do("broken", () => Promise.reject(new Error("broken")), { retry: { maxAttempts: 1 } }),
  ])
  return { order, winner, settled: settled.map(({ status }) => status) }
})

/** Steps, a sleep and a wait inside a step, in which a crash happens. */
export const nested = workflow("nested", async (ctx: Context<Letters>) => {
  return ctx.do("outer", async ({ step, attempt }) => {
    const a = await step.do("a", () => "a")
    await step.sleep("nap", "1m")
    const { text } = await step.waitForEvent("letter", { timeout: "1h" })
    const b = await step.do("deeper", ({ step: inner }) => inner.do("b", () => "b"))
    return [a, text, b, attempt]
  })
})

/** The code aborts a sleep. Then a cancel finds a sleep and a wait open, and the code cleans up. */
export const cancelled = workflow("cancelled", async (ctx: Context<Letters>) => {
  const giveUp = new AbortController()
  const long = ctx.sleep("long", "1d", { signal: giveUp.signal }).catch((error: unknown) => (error as Error).message)
  await ctx.sleep("short", "1s")
  giveUp.abort(new Error("given up"))
  const said = await long
  try {
    await Promise.all([ctx.sleep("open sleep", "1d"), ctx.waitForEvent("letter")])
    return "never"
  } catch (error) {
    const undone = await ctx.do("clean up", () => "tidy")
    const late = await ctx.sleep("too late", "1s").catch((problem: unknown) => (problem as Error).name)
    return { said, why: (error as Error).message, undone, late }
  }
})

/** A step that uses up its attempts. The workflow's hook fails once. */
export const failed = workflow("failed", { retry: { maxAttempts: 2, backoff: "fixed", jitter: 0 } }, async (ctx) => {
  await ctx.do("doomed", ({ attempt }) => {
    throw Object.assign(new TypeError(`no luck ${attempt}`), { cause: new Error("the weather"), luck: { left: 0n } })
  })
})

/** A workflow that takes longer than its timeout. */
export const overdue = workflow("overdue", { timeout: "1h" }, async (ctx: Context<Letters>) => {
  await ctx.waitForEvent("letter")
})

/** Two steps and a wait, for controls from outside. */
export const steered = workflow("steered", async (ctx: Context<Letters>, input: number) => {
  const one = await ctx.do("one", () => input + 1)
  const { text } = await ctx.waitForEvent("letter")
  const two = await ctx.do("two", () => one * 2)
  return { two, text, run: ctx.instance.run }
})

/** A wrong version of `steered`, deployed by mistake. */
export const mistaken = workflow("steered", async (ctx, input: number) => {
  await ctx.sleep("one", "1s")
  return input
})

/** A step whose first attempt never ends, until its process dies. */
export const interrupted = workflow("interrupted", async (ctx) => {
  return ctx.do("hang", ({ attempt }) => (attempt === 1 ? new Promise<string>(() => undefined) : `done at attempt ${attempt}`))
})

/** A workflow that a schedule starts, and that is restarted. */
export const scheduled = workflow("scheduled", async (ctx, input: { readonly region: string }) => {
  const region = await ctx.do("region", () => input.region)
  return { region, ...ctx.instance.schedule }
})

/** A payload too long for the row of its turn. */
export const large = workflow("large", async (ctx, input: { readonly times: number }) => {
  const text = await ctx.do("repeat", () => "0123456789abcdef".repeat(input.times))
  return text.length
})

/** Three steps with a rollback; the rollback of the second one fails. Then the workflow fails, or waits until it is ended from outside. */
export const undoable = workflow(
  "undoable",
  { retry: { maxAttempts: 2, initialInterval: "1s", jitter: 0 } },
  async (ctx: Context<Letters>, input: "fail" | "wait") => {
    const reserved = await ctx.do("reserve", () => ({ shelf: "A7" }), { rollback: ({ shelf }) => `${shelf} is free` })
    await ctx.do("charge", () => 20, {
      rollback: {
        run: () => {
          throw new Error("the bank keeps it")
        },
        retry: { maxAttempts: 1 },
      },
    })
    await ctx.do("pack", () => "packed", {
      rollback: async (_packed, { attempt, step }) => {
        const opened = await step.do("open the box", () => "open")
        if (attempt === 1) throw new Error("the tape sticks")
        return opened
      },
    })
    const parallel = ctx.do("label", ({ step }) => step.sleep("print", "1d"))
    if (input === "wait") await Promise.race([ctx.waitForEvent("letter"), parallel])
    await ctx.do("ship", () => Promise.reject(new Error("no ship")), { retry: { maxAttempts: 1 } })
    return reserved
  },
)

/** Code with one path for instances that begin with it, and another for older instances. */
export const patched = workflow("patched", async (ctx: Context<Letters>) => {
  const paths: string[] = []
  for (const part of ["first", "second"]) {
    const path = ctx.patched(part) ? "new" : "old"
    paths.push(await ctx.do(`${part} ${path}`, () => path))
    if (part === "first") await ctx.waitForEvent("letter")
  }
  return [...paths, ctx.patched("first"), ctx.patched("second")]
})

/** `patched` before it was changed. */
export const unpatched = workflow("patched", async (ctx: Context<Letters>) => {
  await ctx.do("first old", () => "old")
  await ctx.waitForEvent("letter")
})

/** Each run takes one letter, and leaves the other letters to the next run. */
export const perpetual = workflow(
  "perpetual",
  async (ctx: Context<Letters & { go: undefined }>, input: { readonly texts: readonly string[] }): Promise<unknown> => {
    await ctx.waitForEvent("go")
    const { text } = await ctx.waitForEvent("letter")
    const texts = [...input.texts, text]
    if (texts.length < 3) return ctx.continueAsNew({ texts })
    return { texts, run: ctx.instance.run, drawn: ctx.random() }
  },
)

/** Its step names contain a random value and the start time. */
export const forked = workflow("forked", async (ctx: Context<Letters>, input: number) => {
  const drawn = await ctx.do(`begun ${ctx.now()} with ${ctx.random()}`, () => ctx.startTime.toISOString())
  const { text } = await ctx.waitForEvent("letter")
  await ctx.sleep("nap", "1h")
  const last = await ctx.do("last", () => input)
  return { drawn, text, last, uuid: ctx.uuid() }
})

/** A child that knows its parent. */
export const fostered = workflow("fostered", async (ctx: Context<Letters>) => `from ${String(ctx.instance.parentId)}`)

/** Starts `fostered` under the id in its input. */
export const fostering = workflow("fostering", async (ctx: Context<Letters>, id: string) => ctx.runChild(fostered, { id }))

/** Ends as its input says, or waits for a letter. */
export const obedient = workflow("obedient", async (ctx: Context<Letters>, input: "return" | "throw" | "wait") => {
  if (input === "return") return ctx.do("answer", () => new Map([["answer", 42n]]))
  if (input === "throw") throw Object.assign(new RangeError("as told"), { left: 0 })
  return (await ctx.waitForEvent("letter")).text
})

/** Children of each kind: awaited before and after their end, in a race, sent an event, cancelled, refused, and abandoned. */
export const raising = workflow("raising", async (ctx: Context<Letters>) => {
  const start = (id: string, input: "return" | "throw" | "wait") => ctx.startChild(obedient, { id, input, tags: ["golden"] })
  const told = await ctx.runChild(obedient, { input: "return" })
  const failing = await start("failing", "throw")
  await ctx.sleep("a while", "1s")
  const failure = await failing.result().catch((error: unknown) => error)
  const [reader, stopped] = [await start("reader", "wait"), await start("stopped", "wait")]
  await reader.sendEvent("letter", { text: "read this" })
  await stopped.cancel("no longer wanted")
  const settled = await Promise.allSettled([stopped.result(), reader.result()])
  const first = await Promise.race([start("late", "wait").then((late) => late.result()), ctx.sleep("patience", "1m").then(() => "nobody")])
  const taken = await start("reader", "wait").catch((error: unknown) => (error as { code: string }).code)
  await ctx.startChild(obedient, { id: "left", input: "wait", onParentEnd: "abandon" })
  await ctx.startChild(obedient, { id: "ended", input: "wait", onParentEnd: "terminate" })
  return { told, failure, first, taken, settled: settled.map(({ status }) => status) }
})

/** Children that do not complete, and the errors that their parent gets. In the older journal of "raising", the ends of children do not name their workflow. */
export const blaming = workflow("blaming", async (ctx: Context) => {
  const told: unknown[] = []
  for (const [id, input] of [
    ["failing", "throw"],
    ["stopped", "wait"],
  ] as const) {
    const error: unknown = await ctx.runChild(obedient, { id, input }).catch((thrown: unknown) => thrown)
    const { name, message, details, cause } = error as Error & { details: unknown; cause: Error }
    told.push({ name, message, details, cause: cause.name })
  }
  return told
})

/** Handles letters, also letters that come before its handler is set, and updates, of which some are refused and some fail. */
export const attentive = workflow("attentive", async (ctx: Context<Letters & { stop: undefined }>) => {
  const heard: string[] = []
  await ctx.sleep("not yet", "1s")
  ctx.onEvent("letter", async ({ text }) => {
    heard.push(await ctx.do("read", () => text.toUpperCase()))
  })
  ctx.setQueryHandler("heard", () => heard)
  ctx.setUpdateHandler(
    "write",
    {
      validate: (text: string) => {
        if (text === "") throw new RangeError("nothing to write")
      },
    },
    async (text: string, at: Date) => {
      if (text === "nonsense") throw new TypeError("it makes no sense")
      await ctx.sleep("writing", "1m")
      heard.push(text)
      return new Set([text, at])
    },
  )
  await ctx.waitForEvent("stop")
  return heard
})

/** Transactions: one is retried beside a sleep, and one is inside a step. */
export const transactional = workflow("transactional", { retry: { initialInterval: "1s", jitter: 0 } }, async (ctx) => {
  await ctx.transaction("table", (sql) => void sql.run("CREATE TABLE note (text TEXT NOT NULL)"))
  const write = ctx.transaction("write", (sql, { attempt }) => {
    const { changes } = sql.run("INSERT INTO note VALUES (?)", `attempt ${attempt}`)
    if (attempt === 1) throw new Error("not yet")
    return changes
  })
  const [written] = await Promise.all([write, ctx.sleep("nap", "1m")])
  const notes = await ctx.do("outer", ({ step }) => step.transaction("inner", (sql) => sql.all<{ text: string }>("SELECT text FROM note")))
  return { written, notes }
})

/** Conditions: one that holds, one that times out, one whose function throws; and a promise that a handler settles. */
export const conditional = workflow("conditional", async (ctx: Context<Letters>) => {
  const heard: string[] = []
  ctx.onEvent("letter", ({ text }) => void heard.push(text))
  await ctx.condition(() => heard.length > 1, { name: "two" })
  const inTime = await ctx.condition(() => heard.length > 2, { timeout: "1m" })
  const wrong = await ctx
    .condition(() => {
      throw new RangeError("who knows")
    })
    .catch((error: unknown) => (error as Error).message)
  const last = await new Promise<string>((resolve) => ctx.onEvent("letter", ({ text }) => resolve(text)))
  return { heard, inTime, wrong, last }
})

/** Tags and memo: changed before and after steps, carried to the next run, and seen again after a crash. */
export const annotating = workflow("annotating", async (ctx: Context<Letters>, round: number): Promise<unknown> => {
  ctx.setMemo("round", round)
  ctx.tags.add(`round ${round}`)
  await ctx.do("one", () => round)
  ctx.setMemo({ at: new Date(ctx.now()), round: undefined })
  ctx.tags.delete("new")
  const { text } = await ctx.waitForEvent("letter")
  if (round === 1) return ctx.continueAsNew(2)
  return { text, tags: [...ctx.tags], attempt: ctx.instance.attempt }
})

/** Sensitive values: plain, rich, undefined, an error, an event, the input and the result. */
export const secretive = workflow(
  "secretive",
  { sensitive: { input: true, result: true, events: ["letter"] }, retry: { maxAttempts: 1 } },
  async (ctx: Context<Letters>, input: string) => {
    const hidden = { sensitive: true }
    const plain = await ctx.do("plain", () => ({ input }), hidden)
    const rich = await ctx.do("rich", () => new Set([input]), hidden)
    await ctx.do("nothing", () => undefined, hidden)
    const failed = await ctx.do("failing", () => Promise.reject(new RangeError(input)), hidden).catch((error: Error) => (error.cause as Error).message)
    const { text } = await ctx.waitForEvent("letter")
    return { plain, rich, failed, text }
  },
)

/** The codec of the encoded journals: it inverts the bytes, and adds one byte in front. */
export const goldenCodec: PayloadCodec = {
  id: "golden-1",
  encode: (bytes) => Uint8Array.from([7, ...bytes.map((byte) => byte ^ 255)]),
  decode: (bytes) => bytes.slice(1).map((byte) => byte ^ 255),
}

/** Encoded values: plain, rich, undefined, an error, an event, and a memo with which the next run begins. */
export const encoded = workflow("encoded", { retry: { maxAttempts: 1 } }, async (ctx: Context<Letters>, round: number): Promise<unknown> => {
  ctx.setMemo("round", round)
  if (round === 1) return ctx.continueAsNew(2)
  const rich = await ctx.do("rich", () => new Map([[1, new Date(ctx.now())]]))
  await ctx.do("nothing", () => undefined, { sensitive: true })
  const failed = await ctx.do("failing", () => Promise.reject(new RangeError("no"))).catch((error: Error) => error.message)
  const { text } = await ctx.waitForEvent("letter")
  return { rich, failed, text }
})

export const goldenWorkflows = [
  encoded,
  secretive,
  conditional,
  annotating,
  obedient,
  raising,
  blaming,
  attentive,
  undoable,
  patched,
  perpetual,
  forked,
  fostered,
  everyday,
  parallel,
  nested,
  cancelled,
  failed,
  overdue,
  steered,
  interrupted,
  scheduled,
  large,
  transactional,
]
