import type { Host, Scope } from "../../ports/host.ts"
import { currentScope } from "./object-host.ts"

/** Whose code makes a call through the binding: an engine has its name only in the isolate that it lives in, as its code does. */
export interface Caller {
  readonly engine: string
  readonly step?: string
}

const names = new WeakMap<object, string>()

/** The code that is running; undefined: it is none of an instance. */
export function currentCaller(): Caller | undefined {
  const scope = currentScope()
  return scope && { engine: nameOf(scope.engine), ...(scope.step === undefined ? undefined : { step: scope.step }) }
}

/** Calls as the code of the instance would have called without a binding in between, if it is that code: so the engine knows who asks. */
export function runAsCaller<T>(caller: Caller | undefined, { host, engine, instance }: { host: Host; engine: object; instance: string }, call: () => T): T {
  if (caller === undefined || names.get(engine) !== caller.engine) return call()
  const scope: Scope = { engine, instance, ...(caller.step === undefined ? undefined : { step: caller.step }) }
  return host.runIn(scope, call)
}

function nameOf(engine: object): string {
  const name = names.get(engine) ?? crypto.randomUUID()
  names.set(engine, name)
  return name
}
