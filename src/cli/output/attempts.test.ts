import { expect, it } from "vitest"
import type { HistoryEntry } from "../../client-api/client-api.ts"
import { attemptsOf } from "./attempts.ts"

let position = 0
const entry = (type: HistoryEntry["type"], at: number, id: string): HistoryEntry => ({ position: ++position, run: 1, at, type, data: { id } })

it("an attempt ends where it failed, and one that a crash cut off where the next began", () => {
  const entries = [
    entry("step.started", 1, "a"),
    entry("step.started", 2, "b"),
    entry("step.failed", 3, "a"),
    entry("step.completed", 4, "b"),
    entry("step.started", 5, "a"),
    entry("step.started", 8, "a"),
    entry("step.completed", 9, "a"),
    entry("sleep.started", 9, "c"),
    entry("sleep.completed", 10, "c"),
  ]
  expect([...attemptsOf(entries)]).toEqual([
    [
      "a",
      [
        { from: 1, to: 3, failed: true },
        { from: 5, to: 8, failed: true },
        { from: 8, to: 9 },
      ],
    ],
  ])
})
