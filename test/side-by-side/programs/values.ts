import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { ended, errorText, plain, report } from "../observation.ts"
import { type Drive, type Feature, program } from "../program.ts"

const onlyEnd: Drive = async ({ start }) => ({ end: await ended(await start()) })

const once = { retries: { limit: 0, delay: 1 } }

/** What a value is after a step has returned it, told by the code itself. */
const returned = (name: string, values: () => readonly unknown[]) =>
  class extends WorkflowEntrypoint {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      for (const value of values()) note(name, JSON.stringify(plain(await step.do("value", once, async () => value))))
    }
  }

class Point {
  x = 1
  get double() {
    return this.x * 2
  }
}

class LaterChanges extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const original = { list: [1] }
    const given = await step.do("give", async () => original)
    original.list.push(2)
    given.list.push(3)
    return [original, given]
  }
}

class SharedObject extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const given = await step.do("give", async () => {
      const shared = { n: 1 }
      return { a: shared, b: shared }
    })
    return given.a === given.b
  }
}

class CircularObject extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const given = await step.do("give", async () => {
      const circle: { self?: unknown } = {}
      circle.self = circle
      return circle
    })
    return given.self === given
  }
}

/** The step returns what cannot be stored. The code tries to catch that. */
const unserialisable = (name: string, value: () => unknown) =>
  class extends WorkflowEntrypoint {
    async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
      const caught = await step
        .do("bad", once, async () => {
          note(name, "called")
          return value()
        })
        .catch(errorText)
      note(name, `went on with ${String(caught)}`)
      return "went on"
    }
  }

class PayloadOfManyTypes extends WorkflowEntrypoint<unknown, { date: Date; map: Map<string, number>; bytes: Uint8Array; nothing?: undefined }> {
  async run({ payload: { date, map, bytes, ...rest } }: WorkflowEvent<{ date: Date; map: Map<string, number>; bytes: Uint8Array }>) {
    return [date instanceof Date && date.getTime(), map instanceof Map && [...map], [...bytes], Object.keys(rest)]
  }
}

class OutputOfManyTypes extends WorkflowEntrypoint {
  async run() {
    return { date: new Date(0), map: new Map([["a", 1]]), bytes: new Uint8Array([1, 2]), big: 5n, nothing: undefined, text: "text", nan: NaN }
  }
}

class PlainOutput extends WorkflowEntrypoint {
  async run() {
    return { text: "ä\u0000", list: [1, null, [true, {}]], nested: { a: { b: { c: 1.5 } } }, empty: "" }
  }
}

class LargeResult extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const large = await step.do("large", async () => "x".repeat(900_000))
    return large.length
  }
}

class TooLargeResult extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("too large", once, async () => "x".repeat(3_000_000)).then(({ length }) => length, errorText)
  }
}

export const values: Feature = {
  title: "Values",
  programs: [
    program(
      "values keep their types through a step",
      {
        KeptTypes: returned("KeptTypes", () => [
          ...[new Date(1_000), new Map([[1, { a: 2 }]]), new Set(["a"]), new Uint8Array([1, 2]), new Float64Array([1.5]), new ArrayBuffer(2)],
          ...[12n, NaN, Infinity, -0, undefined, null, true, "", { nothing: undefined }, [undefined, 1], /a+/g],
        ]),
      },
      undefined,
    ),
    program("errors as results", {
      ErrorResults: returned("ErrorResults", () => [new Error("plain"), new RangeError("built in"), { inside: new TypeError("nested") }]),
    }),
    program("later changes of a result do not reach the other side", { LaterChanges }),
    program("references in one result stay", { SharedObject }, onlyEnd),
    program("a circle of references in a result", { CircularObject }, async ({ start }) => ({ status: (await ended(await start()))["status"] })),
    program("a function as a result", { FunctionResult: unserialisable("FunctionResult", () => () => 1) }),
    program("an instance of a class as a result", { PointResult: unserialisable("PointResult", () => new Point()) }, onlyEnd),
    program("a symbol as a result", { SymbolResult: unserialisable("SymbolResult", () => Symbol("no")) }, onlyEnd),
    program("a WeakMap inside of a result", { WeakMapResult: unserialisable("WeakMapResult", () => ({ inside: new WeakMap() })) }, onlyEnd),
    program("params of many types arrive as they were given", { PayloadOfManyTypes }, async ({ start }) =>
      report(await start({ params: { date: new Date(5), map: new Map([["a", 1]]), bytes: new Uint8Array([1]), nothing: undefined } })).then(({ end }) => ({
        end,
      })),
    ),
    program("the output of the status, of values that JSON has not", { OutputOfManyTypes }, onlyEnd),
    program("the output of the status, of values that JSON has", { PlainOutput }),
    program("a result of almost 1 MiB", { LargeResult }, onlyEnd),
    program("a result of 3 MB", { TooLargeResult }, onlyEnd),
  ],
}
