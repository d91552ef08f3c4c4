import type { InstanceInfo } from "./context.ts"
import { idempotencyKey } from "./idempotency-key.ts"
import { sha256 } from "../values/sha256.ts"

/** The id of a child without an id of its own. It is made of the parent's id, the run and the step, so replay gives the same id. */
export function childId(parent: InstanceInfo, step: string, lengthMax: number): string {
  const run = parent.run === 1 ? "" : `:r${parent.run}`
  const name = step.replaceAll("#", ".").replaceAll(/[^A-Za-z0-9._:@-]/g, "-")
  const readable = `${parent.id}${run}:${name}`
  return readable.length <= lengthMax ? readable : sha256(`${parent.incarnation}\n${parent.run}\n${step}`).slice(0, Math.min(64, lengthMax))
}

/** The incarnation of a child. Each attempt of the starting step gives the same one, so the parent can tell its child from another instance with the same id. */
export function childIncarnation(incarnation: string, run: number, step: string): string {
  return idempotencyKey(sha256, incarnation, run, step).slice(0, 24)
}
