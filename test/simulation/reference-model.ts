/**
 * Judges the results of programs without the engine. If the timing of outside actions
 * decides (races, timeouts), every outcome of some timing is allowed. All other results are exact.
 *
 *   step        its label, or [label, inner's result]; fails with "failed:boom <label>" or, if it hangs, "failed:timeout <label>"
 *   sleep       its label
 *   wait        an event's payload, its fallback, or "timeout:<label>"
 *   seq, all    the list of results; the error of one of them
 *   allSettled  a list of { ok } and { error }
 *   race, any   [index of the branch, its result]
 *   try         { tried } or { caught, handled }
 *   cut         [what came first, { ok } or { error } of the timer, which is "cut" if it was given up]
 *   child       { child: its result }, its label if it is left alone, { cancelled: { ok } or { error } }; fails with "child:<its error>"
 *   patch       { patched, value }
 */
import { nodesOf, type ChildStart, type Parallel, type Program, type Step } from "./program.ts"

/** The payloads that were sent to the instance, by event type. */
export type Payloads = ReadonlyMap<string, ReadonlySet<string>>

export function allowsResult(node: Program, value: unknown, sent: Payloads): boolean {
  switch (node.kind) {
    case "step":
      if (alwaysFails(node)) return false
      if (node.inner === undefined) return value === node.label
      return isList(value, 2) && value[0] === node.label && allowsResult(node.inner, value[1], sent)
    case "sleep":
      return value === node.label
    case "condition":
      return typeof value === "boolean"
    case "wait":
      if (typeof value !== "string") return false
      return (node.timeoutMs !== undefined && node.fallback === value) || sent.get(node.event)?.has(value) === true
    case "seq":
      return isList(value, node.nodes.length) && node.nodes.every((inner, index) => allowsResult(inner, value[index], sent))
    case "all":
      return isList(value, node.branches.length) && node.branches.every((branch, index) => allowsResult(branch, value[index], sent))
    case "allSettled":
      return isList(value, node.branches.length) && node.branches.every((branch, index) => allowsSettled(branch, value[index], sent))
    case "race":
    case "any": {
      if (!isList(value, 2) || typeof value[0] !== "number") return false
      const branch = node.branches[value[0]]
      return branch !== undefined && mayWin(node, value[0]) && allowsResult(branch, value[1], sent)
    }
    case "try":
      if (isRecord(value) && "tried" in value) return allowsResult(node.body, value["tried"], sent)
      if (!isRecord(value) || typeof value["caught"] !== "string") return false
      return allowsError(node.body, value["caught"]) && allowsResult(node.handler, value["handled"], sent)
    case "cut":
      if (!isList(value, 2) || !allowsResult(node.after, value[0], sent)) return false
      return isError(value[1], "cut") || allowsSettled(node.timer, value[1], sent)
    case "child":
      if (node.fate === "leave") return value === node.label
      if (!isRecord(value)) return false
      if (node.fate === "await") return "child" in value && allowsResult(node.program, value["child"], sent)
      return isRecord(value["cancelled"]) && allowsCancelled(node, value["cancelled"], sent)
    case "patch":
      if (!isRecord(value) || typeof value["patched"] !== "boolean") return false
      return allowsResult(value["patched"] ? node.changed : node.before, value["value"], sent)
  }
}

function alwaysFails({ fails, hangs = 0, attemptsMax }: Step): boolean {
  return fails >= attemptsMax || hangs >= attemptsMax
}

/** Whether a cancelled child may end so: cancelled, or with its own outcome if that came first. */
function allowsCancelled(node: ChildStart, value: Readonly<Record<string, unknown>>, sent: Payloads): boolean {
  const { program } = node
  if ("ok" in value) return allowsResult(program, value["ok"], sent)
  const error = value["error"]
  if (typeof error !== "string") return false
  return error === "child cancelled" || isGone(node, error) || (error.startsWith("child:") && allowsError(program, error.slice("child:".length)))
}

/** Whether the child ended with the run that started it, and the run that keeps it sees this end. */
function isGone({ mayBeKept, onParentEnd }: ChildStart, error: string): boolean {
  return mayBeKept === true && ((onParentEnd === "cancel" && error === "child cancelled") || (onParentEnd === "terminate" && error === "child terminated"))
}

function isError(value: unknown, error: string): boolean {
  return isRecord(value) && value["error"] === error
}

export function allowsError(node: Program, error: string): boolean {
  switch (node.kind) {
    case "step":
      if (error === `failed:timeout ${node.label}`) return (node.hangs ?? 0) >= node.attemptsMax
      return error === `failed:boom ${node.label}` && (node.fails >= node.attemptsMax || (node.inner !== undefined && mayFail(node.inner)))
    case "sleep":
    case "condition":
      return false
    case "wait":
      return node.timeoutMs !== undefined && node.fallback === undefined && error === `timeout:${node.label}`
    case "seq":
      return node.nodes.some((inner, index) => allowsError(inner, error) && node.nodes.slice(0, index).every((before) => maySucceed(before)))
    case "all":
      return node.branches.some((branch) => allowsError(branch, error))
    case "race":
      return node.branches.some((branch, index) => mayWin(node, index) && allowsError(branch, error))
    case "allSettled":
      return false
    case "any":
      return error === "aggregate" && node.branches.every((branch) => mayFail(branch))
    case "try":
      return mayFail(node.body) && allowsError(node.handler, error)
    case "cut":
      return allowsError(node.after, error)
    case "child":
      if (node.fate !== "await") return false
      return isGone(node, error) || (error.startsWith("child:") && allowsError(node.program, error.slice("child:".length)))
    case "patch":
      return allowsError(node.changed, error) || allowsError(node.before, error)
  }
}

function mayFail(node: Program): boolean {
  switch (node.kind) {
    case "step":
      return alwaysFails(node) || (node.inner !== undefined && mayFail(node.inner))
    case "sleep":
    case "condition":
      return false
    case "wait":
      return node.timeoutMs !== undefined && node.fallback === undefined
    case "seq":
      return node.nodes.some((inner, index) => mayFail(inner) && node.nodes.slice(0, index).every((before) => maySucceed(before)))
    case "all":
      return node.branches.some((branch) => mayFail(branch))
    case "race":
      return node.branches.some((branch, index) => mayWin(node, index) && mayFail(branch))
    case "allSettled":
      return false
    case "any":
      return node.branches.every((branch) => mayFail(branch))
    case "try":
      return mayFail(node.body) && mayFail(node.handler)
    case "cut":
      return mayFail(node.after)
    case "child":
      return node.fate === "await" && (mayFail(node.program) || (node.mayBeKept === true && node.onParentEnd !== "abandon"))
    case "patch":
      return mayFail(node.changed) || mayFail(node.before)
  }
}

function maySucceed(node: Program): boolean {
  switch (node.kind) {
    case "step":
      return !alwaysFails(node) && (node.inner === undefined || maySucceed(node.inner))
    case "cut":
      return maySucceed(node.after)
    case "child":
      return node.fate !== "await" || maySucceed(node.program)
    case "patch":
      return maySucceed(node.changed) || maySucceed(node.before)
    case "seq":
      return node.nodes.every((inner) => maySucceed(inner))
    case "all":
      return node.branches.every((branch) => maySucceed(branch))
    case "race":
    case "any":
      return node.branches.some((branch) => maySucceed(branch))
    case "try":
      return maySucceed(node.body) || (mayFail(node.body) && maySucceed(node.handler))
    default:
      return true
  }
}

/** Of sleeps that begin together the shortest wakes first, also after a crash. */
function mayWin({ branches, isLoose }: Parallel, index: number): boolean {
  const branch = branches[index]
  if (branch?.kind !== "sleep" || isLoose) return true
  return !branches.some((other) => other.kind === "sleep" && other.ms < branch.ms)
}

function allowsSettled(branch: Program, value: unknown, sent: Payloads): boolean {
  if (!isRecord(value)) return false
  if ("ok" in value) return allowsResult(branch, value["ok"], sent)
  return typeof value["error"] === "string" && allowsError(branch, value["error"])
}

/** The end of an instance, and the outside actions that concern its last run. */
export interface Ending {
  readonly status: string
  readonly result: unknown
  readonly error: string | undefined
  readonly isCancelRecorded: boolean
  readonly sent: Payloads
  /** For each control: how often it was tried, and how often it was accepted. */
  readonly tried: ReadonlyMap<string, number>
  readonly accepted: ReadonlyMap<string, number>
  readonly run: number
  /** How many runs began because the one before continued as new. */
  readonly continuations: number
  /** Set for a child whose parent has ended, or has cancelled or terminated it. */
  readonly isForsaken: "cancel" | "terminate" | undefined
  /** The last acknowledged terminate or restart. */
  readonly lastSeizure: "terminate" | "restart" | undefined
}

/** Why an ending is wrong; undefined if it is allowed. `program` is the program of the last run. */
export function judgeEnding(program: Program, ending: Ending): string | undefined {
  const { status, tried, accepted } = ending
  const run = ending.run - ending.continuations
  const restarts = { atLeast: accepted.get("restart") ?? 0, atMost: tried.get("restart") ?? 0 }
  if (run < 1 + restarts.atLeast || run > 1 + restarts.atMost) return `run ${run} after ${restarts.atLeast} acknowledged of ${restarts.atMost} restarts`
  if (ending.lastSeizure === "terminate" && status !== "terminated") return `${status}, although its termination was acknowledged`
  switch (status) {
    case "completed":
      if (ending.isCancelRecorded) return "completed, although its cancel is recorded"
      return allowsResult(program, ending.result, ending.sent) ? undefined : `completed with ${JSON.stringify(ending.result)}, which the program cannot give`
    case "failed":
      if (ending.isCancelRecorded) return "failed, although its cancel is recorded"
      return ending.error !== undefined && allowsError(program, ending.error) ? undefined : `failed with ${ending.error}, which the program cannot throw`
    case "cancelled":
      return ending.isCancelRecorded ? undefined : "cancelled, although no cancel is recorded"
    case "terminated":
      return (tried.get("terminate") ?? 0) + (tried.get("undo") ?? 0) > 0 || ending.isForsaken === "terminate" ? undefined : "terminated by nobody"
    default:
      return `left behind as ${status}`
  }
}

/** The number of waits for each event type. */
export function waitsOf(program: Program): ReadonlyMap<string, number> {
  const waits = new Map<string, number>()
  for (const node of nodesOf(program)) if (node.kind === "wait") waits.set(node.event, (waits.get(node.event) ?? 0) + 1)
  return waits
}

function isList(value: unknown, length: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length === length
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
