// What the workloads run on. A store or a host that comes later is one more of these: it says how to open an engine, and
// every workload that names it among its targets gives figures for it, beside those of the others.

import { type Engine, Perdure } from "perdure"
import { memory } from "perdure/testing"
import { workflows } from "./bench-workflows.ts"
import { crowd } from "./crowd.ts"
import { openEngine } from "./engine-on-disk.ts"

export interface Target {
  readonly id: string
  readonly title: string
  /** The goals are about stores that keep what they are told; this one is there to compare with. */
  readonly hasNoGoals?: true
  /** With all defaults, on what is in the folder. */
  open(folder: string): Promise<Engine>
  /** Fills what is in the folder with so many rows of instances and journals, faster than engines do it. */
  crowd?(folder: string, rows: number, progress: (text: string) => void): Promise<void>
}

export const targets = [
  { id: "sqlite", title: "SQLite", open: openEngine, crowd },
  { id: "memory", title: "memory", hasNoGoals: true, open: () => Perdure.open({ store: memory(), workflows }) },
] as const satisfies readonly Target[]

export type TargetId = (typeof targets)[number]["id"]

export function targetCalled(id: string): Target {
  const found = targets.find((target) => target.id === id)
  if (found === undefined) throw new Error(`there is no target ${id}; there are ${targets.map((target) => target.id).join(", ")}`)
  return found
}
