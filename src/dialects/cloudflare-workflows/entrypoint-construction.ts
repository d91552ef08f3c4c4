import { WorkflowEntrypoint, type WorkflowEntrypointClass, type WorkflowExecutionContext } from "./workflow-entrypoint.ts"

/** What a program's objects can reach. */
export interface Surroundings {
  readonly env: unknown
  readonly ctx: WorkflowExecutionContext
  /** The bindings, by the names of the workflows. */
  readonly workflows: Readonly<Record<string, unknown>>
}

/** What the constructor of a base class leaves on the object. */
class EntrypointFields {
  constructor(ctx: WorkflowExecutionContext, env: unknown) {
    // Defined, not assigned: the platform's prototype may have accessors of these names.
    Object.defineProperty(this, "ctx", { value: ctx, configurable: true, enumerable: true, writable: true })
    Object.defineProperty(this, "env", { value: env, configurable: true, enumerable: true, writable: true })
  }
}

/** Makes an object of a workflow's class. */
export function newEntrypoint(entrypoint: WorkflowEntrypointClass, { ctx, env, workflows }: Surroundings): InstanceType<WorkflowEntrypointClass> {
  const made = construct(entrypoint, ctx, env)
  return Object.defineProperty(made, "workflows", { value: workflows, configurable: true })
}

/**
 * In workerd, the constructor of the platform's own `WorkflowEntrypoint` takes only a context that the platform
 * made, and a Durable Object has none. So while such an object is made, `super()` of the lowest class calls a constructor of ours: a class finds the
 * constructor for `super()` as its own prototype when it is called. The class is as before afterwards, and nothing else runs in between.
 */
function construct(entrypoint: WorkflowEntrypointClass, ctx: WorkflowExecutionContext, env: unknown): InstanceType<WorkflowEntrypointClass> {
  const lowest = lowestDerivedClass(entrypoint)
  const base: unknown = lowest && Object.getPrototypeOf(lowest)
  if (lowest === undefined || base === WorkflowEntrypoint) return new entrypoint(ctx, env)
  Object.setPrototypeOf(lowest, EntrypointFields)
  try {
    return new entrypoint(ctx, env)
  } finally {
    Object.setPrototypeOf(lowest, base as object)
  }
}

/** The class that extends a class which extends nothing. Undefined: the class itself extends nothing. */
function lowestDerivedClass(entrypoint: object): object | undefined {
  let lowest: object | undefined
  for (let current = entrypoint; ;) {
    const parent = Object.getPrototypeOf(current) as object | null
    if (parent === null || parent === Function.prototype) return lowest
    lowest = current
    current = parent
  }
}
