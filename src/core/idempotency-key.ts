import { sha256 } from "./sha256.ts"

/** Names a step for whoever must not do it twice: the same for every attempt, another after a restart. `run` is the one that asked for it first. */
export function idempotencyKey(incarnation: string, run: number, step: string): string {
  return sha256(`${incarnation}\n${run}\n${step}`)
}

/** Each attempt gives the child the same incarnation: so one that comes later, or has to do with it, knows it from a stranger with its id. */
export function childIncarnation(incarnation: string, run: number, step: string): string {
  return idempotencyKey(incarnation, run, step).slice(0, 24)
}
