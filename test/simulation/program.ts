/** Workflow programs as data: small enough to print, rich enough to go wrong. The interpreter runs them, the reference model judges them. */

export type Program = Step | Sleep | Wait | Sequence | Parallel | Try

export interface Step {
  readonly kind: "step"
  /** Unique in its program, and its result. */
  readonly label: string
  /** May repeat: the engine numbers the occurrences. */
  readonly name: string
  /** How many attempts throw before one succeeds; `attemptsMax` or more: it fails for good. */
  readonly fails: number
  readonly attemptsMax: number
  readonly latencyMs: number
  readonly inner?: Program
}

export interface Sleep {
  readonly kind: "sleep"
  readonly label: string
  readonly ms: number
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
  /** Inside a step's function, where answers come by id and not in their order. */
  readonly isNested?: true
}

export interface Try {
  readonly kind: "try"
  readonly body: Program
  readonly handler: Program
}

export interface SimulatedInstance {
  readonly id: string
  readonly program: Program
  readonly startAtMs: number
  /** Started with a delay: queued until then. */
  readonly delayMs?: number
  /** Started by `sendOrStart`, with this event. */
  readonly with?: SentEvent
}

export interface SentEvent {
  readonly type: string
  readonly payload: string
  readonly eventId?: string
}

/** What somebody does from outside, at a virtual time after the start of the simulation. */
export interface OutsideAction {
  readonly atMs: number
  readonly instance: string
  readonly act: { readonly kind: "event"; readonly event: SentEvent } | { readonly kind: "pause" | "resume" | "cancel" | "terminate" | "restart" }
}

export interface Scenario {
  readonly instances: readonly SimulatedInstance[]
  readonly actions: readonly OutsideAction[]
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

/** All nodes, outermost first. */
export function* nodesOf(program: Program): Generator<Program> {
  yield program
  switch (program.kind) {
    case "step":
      if (program.inner) yield* nodesOf(program.inner)
      return
    case "sleep":
    case "wait":
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

/** One line per node, for reports. */
export function printProgram(program: Program, indent = ""): string {
  const inside = (nodes: readonly Program[]) => nodes.map((node) => `\n${printProgram(node, `${indent}  `)}`).join("")
  switch (program.kind) {
    case "step": {
      const { label, name, fails, attemptsMax, latencyMs, inner } = program
      const outcome = fails === 0 ? "" : ` throws ${fails >= attemptsMax ? "always" : `${fails}x`} of ${attemptsMax}`
      return `${indent}step ${label}${name === label ? "" : ` named ${name}`}${outcome}${latencyMs > 0 ? ` takes ${latencyMs}ms` : ""}${inner ? inside([inner]) : ""}`
    }
    case "sleep":
      return `${indent}sleep ${program.label} ${program.ms}ms`
    case "wait": {
      const { label, event, timeoutMs, fallback } = program
      return `${indent}wait ${label} for ${event}${timeoutMs === undefined ? "" : ` up to ${timeoutMs}ms`}${fallback === undefined ? "" : ` else ${fallback}`}`
    }
    case "seq":
      return `${indent}seq${inside(program.nodes)}`
    case "try":
      return `${indent}try${inside([program.body])}\n${indent}catch${inside([program.handler])}`
    default:
      return `${indent}${program.kind}${inside(program.branches)}`
  }
}

export function printScenario({ instances, actions }: Scenario): string {
  const started = instances.map(({ id, program, startAtMs, delayMs, with: event }) => {
    const how = event ? ` by sendOrStart with ${JSON.stringify(event)}` : ""
    return `${id} at ${startAtMs}ms${delayMs === undefined ? "" : `, delayed by ${delayMs}ms`}${how}\n${printProgram(program, "  ")}`
  })
  return [...started, ...actions.map(({ atMs, instance, act }) => `${atMs}ms ${instance} ${JSON.stringify(act)}`)].join("\n")
}
