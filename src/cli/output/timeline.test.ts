import { describe, expect, it } from "vitest"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { textWidth } from "./plain-text.ts"
import { styleOf } from "./style.ts"
import { timeline, type TimelineOptions } from "./timeline.ts"

const from = new Date(2026, 10, 16, 14, 0, 0).getTime()
const options: TimelineOptions = { from, now: from + 1_000, width: 80, style: styleOf(false), rowsMax: 40 }

/** `start` and `end` are milliseconds from the start of the run. */
function step(id: string, start: number, end: number | undefined, more: Partial<StepInfo> = {}): StepInfo {
  const name = id.split("/").at(-1) ?? id
  const parentId = id.includes("/") ? { parentId: id.slice(0, id.lastIndexOf("/")) } : undefined
  const status = end === undefined ? "running" : "completed"
  const completed = end === undefined ? undefined : { completedAt: from + end }
  return { id, name, type: "do", status, attempts: 1, startedAt: from + start, ...parentId, ...completed, ...more }
}

const draw = (steps: readonly StepInfo[], more: Partial<TimelineOptions> = {}) => timeline(steps, { ...options, ...more })

describe("a timeline", () => {
  it("shows when each step ran, what is inside another below it", () => {
    const steps = [
      step("reserve", 0, 100),
      step("charge", 100, 500),
      step("ship", 500, 1_000),
      step("charge/card", 200, 400),
      step("nap", 500, 900, { type: "sleep" }),
      step("answer", 500, 1_000, { type: "wait", event: "reply" }),
    ]
    expect(draw(steps, { width: 63 }).split("\n")).toEqual([
      "                0                                     1s",
      "reserve         ████                                      100ms",
      "charge              ████████████████                      400ms",
      "  card                  ████████                          200ms",
      "ship                                ████████████████████  500ms",
      "nap                                 ░░░░░░░░░░░░░░░░      400ms",
      "answer (reply)                      ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  500ms",
      "",
    ])
  })

  it.each([60, 80, 120, 200])("is %i columns wide at most", (width) => {
    const steps = [
      step("a-step-with-a-very-long-name-that-nobody-wants-to-read", 0, 300),
      step("b", 300, undefined),
      step("c", 10, 900, { status: "failed", attempts: 3 }),
    ]
    const lines = draw(steps, { width }).trimEnd().split("\n")
    expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(width)
    expect(Math.max(...lines.map(textWidth))).toBeGreaterThan(width - 8)
  })

  it("marks what goes on, what failed, and what lies between two attempts", () => {
    const attempts = new Map([["charge", [{ from: from, to: from + 200, failed: true }, { from: from + 600 }]]])
    const [, charge, failed] = draw([step("charge", 0, undefined, { attempts: 2 }), step("failed", 0, 500, { status: "failed" })], {
      attempts,
      width: 40,
    }).split("\n")
    expect(charge).toBe("charge  ███╳······██████▸  running 1s ×2")
    expect(failed).toBe("failed  ████████╳          failed 500ms")
  })

  it("says how long a sleep or a wait lasts and until when, or when it is tried again", () => {
    const text = draw([
      step("nap", 0, undefined, { type: "sleep", status: "sleeping", wakeAt: from + 3_600_000 }),
      step("try", 0, undefined, { status: "retrying", attempts: 3, wakeAt: from + 61_000 }),
      step("wait", 0, undefined, { type: "wait", status: "waiting" }),
      step("late", 0, undefined, { type: "wait", status: "waiting", wakeAt: from + 7_200_000 }),
    ])
    expect(text).toMatch(/^nap {3}░+▸ {2}1h, until 15:00:00$/m)
    expect(text).toMatch(/^try {3}·+▸ {2}retry in 1m ×3$/m)
    expect(text).toMatch(/^wait {2}▒+▸ {2}waiting since 14:00:00$/m)
    expect(text).toMatch(/^late {2}▒+▸ {2}at most 2h, until 16:00:00$/m)
  })

  it("names the instance that a child is, and what a rollback undoes", () => {
    const text = draw([
      step("send", 0, 10, { type: "child", instance: "mail-1" }),
      step("pay#rollback", 0, 10, { name: "pay", type: "rollback" }),
      step("pay#2", 5, 10, { name: "pay" }),
    ])
    expect(text).toMatch(/^send → mail-1 {2}/m)
    expect(text).toMatch(/^undo pay {2}/m)
    expect(text).toMatch(/^pay#2 {2}/m)
  })

  it("folds a long one, but not what needs a look", () => {
    const steps = Array.from({ length: 1_000 }, (_, index) => step(`s${index}`, index, index + 1, index === 500 ? { status: "failed" } : {}))
    const lines = draw(steps, { rowsMax: 8, width: 60 }).trimEnd().split("\n").slice(1)
    expect(lines.map((line) => line.split("  ")[0])).toEqual(["s0", "s1", "… 498 steps", "s500", "… 497 steps", "s998", "s999"])
    expect(lines[2]).toMatch(/^… 498 steps {2}─{17,18} +498ms$/)
    expect(draw(steps, { rowsMax: Infinity }).split("\n")).toHaveLength(1_002)
  })

  it("takes no more than a moment for a run of 25,000 steps", () => {
    const steps = Array.from({ length: 25_000 }, (_, index) => step(`s${index}`, index, index + 1))
    expect(draw(steps).split("\n")).toHaveLength(23)
  })

  it("is nothing where there are no steps", () => {
    expect(draw([])).toBe("")
  })

  it("has the same layout in colour", () => {
    const steps = [step("a", 0, 100), step("b", 100, 500, { status: "failed" }), step("c", 500, undefined)]
    // oxlint-disable-next-line no-control-regex
    expect(draw(steps, { style: styleOf(true) }).replace(/\u001b\[\d+m/g, "")).toBe(draw(steps))
    expect(draw(steps, { style: styleOf(true) })).toContain("\u001b[31m╳")
  })
})
