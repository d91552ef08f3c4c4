// Stands for vitest in the suites that every store and host runs: an object's storage may be used only by code that runs inside that
// object, so each case, and what comes before and after it, does.

import { runInDurableObject } from "cloudflare:test"
import type { DurableObjectState, DurableObjectStub } from "cloudflare:workers"
import * as vitest from "vitest"
import { bareObject } from "./bare-object.ts"

export * from "vitest"

let stub: DurableObjectStub | undefined
let state: DurableObjectState | undefined

/** Of the object that the running case is in. */
export function currentState(): DurableObjectState {
  if (state === undefined) throw new Error("there is an object only while a case runs")
  return state
}

type Body = () => unknown

/** Of a file whose cases make objects themselves, and are in none. */
export const outside = {
  isOn: false,
  /** By their names: cases that are not for such objects, and why. */
  left: new Map<string, string>(),
  /** What was left out. */
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

/** Left out in the open: it is told with its reason. */
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
