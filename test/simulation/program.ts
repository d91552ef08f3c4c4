import type { RollbackPolicy } from "perdure"

/** Workflow programs as data: small enough to print, rich enough to go wrong. The interpreter runs them, the reference model judges them. */

export type Program = Step | Sleep | Wait | Condition | Sequence | Parallel | Try | Cut | ChildStart | Patch

export interface Step {
  readonly kind: "step"
  /** The label is unique in its program, and is the result of the step. */
  readonly label: string
  /** Names may repeat, because the engine numbers the occurrences. */
  readonly name: string
  /** How many attempts throw before one succeeds; `attemptsMax` or more: it fails for good. */
  readonly fails: number
  readonly attemptsMax: number
  readonly latencyMs: number
  readonly inner?: Program
  readonly timeoutMs?: number
  /** How many attempts never end by themselves; `attemptsMax` or more: all of them. */
  readonly hangs?: number
  /** The rollback of the step. Nested steps have none. */
  readonly undo?: Step
}

export interface Sleep {
  readonly kind: "sleep"
  readonly label: string
  readonly ms: number
}

/** A condition that holds when the code has seen `seen` results. Not inside a step. */
export interface Condition {
  readonly kind: "condition"
  readonly label: string
  readonly seen: number
  readonly timeoutMs: number
}

export interface Wait {
  readonly kind: "wait"
  readonly label: string
  readonly event: string
  readonly timeoutMs?: number
  readonly fallback?: string
}

export interface Sequence {
  readonly kind: "seq"
  readonly nodes: readonly Program[]
}

export interface Parallel {
  readonly kind: "all" | "allSettled" | "race" | "any"
  readonly branches: readonly Program[]
  /** Branches need not begin together: a step that is entered again has some of them, or a run that is restarted from a step. */
  readonly isLoose?: true
}

export interface Try {
  readonly kind: "try"
  readonly body: Program
  readonly handler: Program
}

/** Aborts a sleep or a wait with a signal when another node is done. The code awaits both. */
export interface Cut {
  readonly kind: "cut"
  readonly timer: Sleep | Wait
  readonly after: Program
}

/** Starts a child. Not inside a step. */
export interface ChildStart {
  readonly kind: "child"
  readonly label: string
  readonly program: Program
  readonly onParentEnd: "cancel" | "terminate" | "abandon"
  /** The fate of the child: awaited, abandoned, or cancelled and awaited. */
  readonly fate: "await" | "leave" | "cancel"
  /** An event that the parent sends to the child first. */
  readonly event?: SentEvent
  /** A restart from a step may keep the child after it got the message that its parent has ended. */
  readonly mayBeKept?: true
}

/** Code that changes while instances run. Not inside a step. */
export interface Patch {
  readonly kind: "patch"
  readonly label: string
  readonly changed: Program
  readonly before: Program
}

export interface SimulatedInstance {
  readonly id: string
  readonly program: Program
  /** The programs of further runs, each started by `continueAsNew`. */
  readonly next?: readonly Program[]
  readonly startAtMs: number
  /** The delay of the start, during which the instance is queued. */
  readonly delayMs?: number
  /** The event of a start with `sendOrStart`. */
  readonly with?: SentEvent
  /** The instance whose workflow this instance shares; default: a workflow of its own. */
  readonly twinOf?: string
  /** The flow control of its workflow, and of the workflows of its children. */
  readonly flow?: Flow
  /** Which steps are undone, in its workflow and in the workflows of its children. */
  readonly rollbackPolicy?: RollbackPolicy
  readonly input?: Input
}

/** How many instances of a workflow run at a time, and how fast they start. */
export interface Flow {
  readonly limits: readonly FlowLimit[]
  readonly rate?: { readonly limit: number; readonly per: number }
}

export interface FlowLimit {
  readonly limit: number
  readonly isKeyed: boolean
  readonly hold: boolean
}

/** The input of a run. Without it the run executes the first program. */
export interface Input {
  /** The number of the program that the run executes. */
  readonly program: number
  readonly key: string
  readonly priority: number
}

/** The key of the instance for limits with keys. */
export function keyOf(input: Input | undefined): string {
  return input?.key ?? "none"
}

export interface SentEvent {
  readonly type: string
  readonly payload: string
  readonly eventId?: string
}

/** An action of the caller, at a virtual time after the start of the simulation. */
export interface OutsideAction {
  readonly atMs: number
  readonly instance: string
  readonly act: Act
}

export type Act =
  | { readonly kind: "event"; readonly event: SentEvent }
  | { readonly kind: "pause" | "resume" | "cancel" | "terminate" | "restart" }
  /** A terminate that runs rollbacks. */
  | { readonly kind: "undo" }
  | { readonly kind: "restartFrom"; readonly step: string }
  /** `arg` is unique; one that begins with "bad" is refused. */
  | { readonly kind: "update"; readonly arg: string }
  | { readonly kind: "query" }

/** A schedule that starts the program again and again. */
export interface SimulatedSchedule {
  readonly id: string
  readonly program: Program
  readonly createAtMs: number
  readonly everyMs: number
  readonly endAtMs: number
  readonly overlap: "skip" | "queue" | "cancel-previous" | "allow"
}

export interface Scenario {
  readonly instances: readonly SimulatedInstance[]
  readonly actions: readonly OutsideAction[]
  readonly schedules?: readonly SimulatedSchedule[]
}

export const step = (label: string, options: Partial<Omit<Step, "kind" | "label">> = {}): Step => ({
  kind: "step",
  label,
  name: label,
  fails: 0,
  attemptsMax: 3,
  latencyMs: 0,
  ...options,
})
export const sleep = (label: string, ms: number): Sleep => ({ kind: "sleep", label, ms })
export const wait = (label: string, event: string, options: Partial<Pick<Wait, "timeoutMs" | "fallback">> = {}): Wait => ({
  kind: "wait",
  label,
  event,
  ...options,
})
export const seq = (...nodes: readonly Program[]): Sequence => ({ kind: "seq", nodes })
export const all = (...branches: readonly Program[]): Parallel => ({ kind: "all", branches })
export const allSettled = (...branches: readonly Program[]): Parallel => ({ kind: "allSettled", branches })
export const race = (...branches: readonly Program[]): Parallel => ({ kind: "race", branches })
export const any = (...branches: readonly Program[]): Parallel => ({ kind: "any", branches })
export const attempt = (body: Program, handler: Program): Try => ({ kind: "try", body, handler })
export const cut = (timer: Sleep | Wait, after: Program): Cut => ({ kind: "cut", timer, after })
export const patch = (label: string, changed: Program, before: Program): Patch => ({ kind: "patch", label, changed, before })
export const child = (label: string, program: Program, options: Partial<Omit<ChildStart, "kind" | "label" | "program">> = {}): ChildStart => ({
  kind: "child",
  label,
  program,
  onParentEnd: "cancel",
  fate: "await",
  ...options,
})

/** All nodes of a program, outermost first, without the nodes of children. */
export function* nodesOf(program: Program): Generator<Program> {
  yield program
  switch (program.kind) {
    case "step":
      if (program.inner) yield* nodesOf(program.inner)
      return
    case "sleep":
    case "wait":
    case "condition":
    case "child":
      return
    case "cut":
      yield program.timer
      yield* nodesOf(program.after)
      return
    case "patch":
      yield* nodesOf(program.changed)
      yield* nodesOf(program.before)
      return
    case "seq":
      for (const node of program.nodes) yield* nodesOf(node)
      return
    case "try":
      yield* nodesOf(program.body)
      yield* nodesOf(program.handler)
      return
    default:
      for (const branch of program.branches) yield* nodesOf(branch)
  }
}

/** The workflow of an instance or of a child. */
export interface Definition {
  readonly name: string
  readonly programs: readonly Program[]
  readonly flow?: Flow
  readonly rollbackPolicy?: RollbackPolicy
}

export function workflowNameOf({ id, twinOf = id }: Pick<SimulatedInstance, "id" | "twinOf">): string {
  return `program-${twinOf}`
}

/** The workflows of an instance and of all its descendants. */
export function definitionsOf(instance: Pick<SimulatedInstance, "id" | "twinOf" | "program" | "next" | "flow" | "rollbackPolicy">): readonly Definition[] {
  const { program, next = [], flow, rollbackPolicy } = instance
  const options = { ...(flow ? { flow } : {}), ...(rollbackPolicy ? { rollbackPolicy } : {}) }
  return withChildren({ name: workflowNameOf(instance), programs: [program, ...next], ...options })
}

function withChildren(definition: Definition): readonly Definition[] {
  const children = definition.programs.flatMap((program) => [...nodesOf(program)].filter((node) => node.kind === "child"))
  return [definition, ...children.flatMap((node) => withChildren({ ...definition, name: childName(definition.name, node.label), programs: [node.program] }))]
}

export function childName(parent: string, label: string): string {
  return `${parent}-${label}`
}

/** One line per node, for reports. */
export function printProgram(program: Program, indent = ""): string {
  const inside = (nodes: readonly Program[]) => nodes.map((node) => `\n${printProgram(node, `${indent}  `)}`).join("")
  switch (program.kind) {
    case "step": {
      const { label, name, fails, attemptsMax, latencyMs, inner, timeoutMs, hangs = 0, undo } = program
      const outcome = fails === 0 ? "" : ` throws ${fails >= attemptsMax ? "always" : `${fails}x`} of ${attemptsMax}`
      return `${indent}step ${label}${name === label ? "" : ` named ${name}`}${outcome}${latencyMs > 0 ? ` takes ${latencyMs}ms` : ""}${timeoutMs === undefined ? "" : ` at most ${timeoutMs}ms, hangs ${hangs}x of ${attemptsMax}`}${inner ? inside([inner]) : ""}${undo ? `, undone by${inside([undo])}` : ""}`
    }
    case "sleep":
      return `${indent}sleep ${program.label} ${program.ms}ms`
    case "wait": {
      const { label, event, timeoutMs, fallback } = program
      return `${indent}wait ${label} for ${event}${timeoutMs === undefined ? "" : ` up to ${timeoutMs}ms`}${fallback === undefined ? "" : ` else ${fallback}`}`
    }
    case "condition":
      return `${indent}condition ${program.label}: ${program.seen} seen, up to ${program.timeoutMs}ms`
    case "cut":
      return `${indent}cut${inside([program.timer])}\n${indent}after${inside([program.after])}`
    case "patch":
      return `${indent}patched ${program.label}${inside([program.changed])}\n${indent}before that${inside([program.before])}`
    case "child": {
      const { label, fate, onParentEnd, event } = program
      const sent = event ? `, sent ${JSON.stringify(event)}` : ""
      return `${indent}child ${label}, ${fate}, ${onParentEnd} in the end${sent}${inside([program.program])}`
    }
    case "seq":
      return `${indent}seq${inside(program.nodes)}`
    case "try":
      return `${indent}try${inside([program.body])}\n${indent}catch${inside([program.handler])}`
    default:
      return `${indent}${program.kind}${inside(program.branches)}`
  }
}

export function printScenario({ instances, actions, schedules = [] }: Scenario): string {
  const started = instances.map(({ id, program, next = [], startAtMs, delayMs, with: event, twinOf, flow, rollbackPolicy, input }) => {
    const limits = flow ? `, limited ${JSON.stringify({ ...flow, twinOf, ...input })}` : ""
    const how = `${event ? ` by sendOrStart with ${JSON.stringify(event)}` : ""}${limits}${rollbackPolicy ? `, rolled back by ${JSON.stringify(rollbackPolicy)}` : ""}`
    return `${id} at ${startAtMs}ms${delayMs === undefined ? "" : `, delayed by ${delayMs}ms`}${how}\n${[program, ...next].map((one) => printProgram(one, "  ")).join("\n  then as new\n")}`
  })
  const scheduled = schedules.map(
    ({ id, program, createAtMs, everyMs, endAtMs, overlap }) =>
      `schedule ${id} at ${createAtMs}ms, every ${everyMs}ms until ${endAtMs}ms, ${overlap}\n${printProgram(program, "  ")}`,
  )
  return [...started, ...scheduled, ...actions.map(({ atMs, instance, act }) => `${atMs}ms ${instance} ${JSON.stringify(act)}`)].join("\n")
}
