import { expect, it } from "vitest"
import type { Change } from "../../core/journal/change.ts"
import { changeLine } from "./change-line.ts"
import { styleOf } from "./style.ts"

const now = new Date(2026, 10, 16, 14, 0, 0).getTime()
const base = { id: "x:1", cursor: "c", at: now, instance: "order-1", workflow: "order", version: "2", taskQueue: "default", run: 1, position: 1 } as const
const line = (change: Pick<Change, "type" | "data">, width = 100) => changeLine({ ...base, ...change }, { style: styleOf(false), width, now })

it.each<[Pick<Change, "type" | "data">, string]>([
  [{ type: "workflow.started", data: {} }, "14:00:00  order-1               workflow.started    order@2"],
  [{ type: "step.started", data: { step: "pay", attempt: 1 } }, "14:00:00  order-1               step.started        pay"],
  [{ type: "step.completed", data: { step: "pay", durationMs: 1_500 } }, "14:00:00  order-1               step.completed      pay  1.5s"],
  [
    { type: "retry.scheduled", data: { step: "pay", attempt: 2, error: { name: "Error", message: "no\n\u001b[2J" }, retryAt: now + 5_000 } },
    "14:00:00  order-1               retry.scheduled     pay  attempt 2  in 5s  Error: no \\u001b[2J",
  ],
  [
    { type: "child.completed", data: { step: "mail", child: "mail-1", status: "failed" } },
    "14:00:00  order-1               child.completed     mail  → mail-1  failed",
  ],
  [{ type: "sleep.started", data: { step: "nap", wakeAt: now + 600_000 } }, "14:00:00  order-1               sleep.started       nap  for 10m"],
  [{ type: "workflow.paused", data: { status: "paused", reason: "lunch" } }, "14:00:00  order-1               workflow.paused     order@2  lunch"],
])("a change is one line: %j", (change, text) => {
  expect(line(change)).toBe(text)
})

it("is cut to the width of the terminal", () => {
  const text = line({ type: "step.failed", data: { step: "pay", error: { name: "Error", message: "x".repeat(200) } } }, 80)
  expect(text).toHaveLength(80)
  expect(text.endsWith("…")).toBe(true)
})

it("says how long a sleep lasts, and not how old it is", () => {
  const asleep = { ...base, type: "sleep.started", data: { step: "nap", wakeAt: now + 600_000 } } as const
  expect(changeLine(asleep, { style: styleOf(false), width: 100, now: now + 86_400_000 })).toMatch(/ nap {2}for 10m$/)
})

it("fits a narrow terminal", () => {
  const instance = "order-of-somebody-with-a-long-id"
  const failed = { ...base, instance, type: "step.failed", data: { step: "pay", error: { name: "Error", message: "x".repeat(200) } } } as const
  expect(changeLine(failed, { style: styleOf(false), width: 58, now })).toHaveLength(58)
})
