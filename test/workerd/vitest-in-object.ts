// Replaces vitest in the suites that every store and host runs. The storage of an object may be used only by code inside the
// object, so each case and its hooks run inside an object.

import { runInDurableObject } from "cloudflare:test"
import type { DurableObjectState, DurableObjectStub } from "cloudflare:workers"
import * as vitest from "vitest"
import { bareObject } from "./bare-object.ts"

export * from "vitest"

let stub: DurableObjectStub | undefined
let state: DurableObjectState | undefined

/** The state of the object in which the running case is. */
export function currentState(): DurableObjectState {
  if (state === undefined) throw new Error("there is an object only while a case runs")
  return state
}

type Body = () => unknown

/** Settings of a file whose cases create objects themselves, and run in none. */
export const outside = {
  isOn: false,
  /** Cases that do not apply to such objects: their names, with the reasons. */
  left: new Map<string, string>(),
  /** The cases that were left out. */
  seen: new Set<string>(),
}

const inside = (fn: Body) => async () => {
  if (outside.isOn) return void (await fn())
  if (stub === undefined) throw new Error("there is an object only while a case runs")
  await runInDurableObject(stub, async (_, itsState) => {
    state = itsState
    await fn()
  })
}

/** A fresh object for each case. */
vitest.beforeEach(() => {
  stub = bareObject()
})

export function beforeEach(fn: Body): void {
  vitest.beforeEach(inside(fn))
}

export function afterEach(fn: Body): void {
  vitest.afterEach(inside(fn))
}

/** Reports a case that does not apply as skipped, with its reason. */
const leftOut = (name: string) => {
  const why = outside.left.get(name)
  if (why === undefined) return false
  outside.seen.add(name)
  // oxlint-disable-next-line vitest/no-disabled-tests -- the reason is in its name, and where it is listed
  vitest.it.skip(`${name} (${why})`)
  return true
}

export const it = Object.assign((name: string, fn: Body, timeoutMs?: number) => leftOut(name) || vitest.it(name, inside(fn), timeoutMs), {
  each:
    (rows: readonly unknown[]) =>
    (name: string, fn: (...row: unknown[]) => unknown, timeoutMs?: number): void => {
      if (!leftOut(name)) vitest.it.each(rows)(name, (...row: unknown[]) => inside(() => fn(...row))(), timeoutMs)
    },
})
