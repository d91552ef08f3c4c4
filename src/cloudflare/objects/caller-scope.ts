import type { Host, Scope } from "../../ports/host.ts"
import { currentScope } from "./object-host.ts"

/** The workflow code that makes an RPC call. The name of its engine is valid in one isolate only, as is the engine itself. */
export interface Caller {
  readonly engine: string
  readonly step?: string
}

const names = new WeakMap<object, string>()

/** The caller to send along with an RPC call. Undefined: the running code belongs to no instance. */
export function currentCaller(): Caller | undefined {
  const scope = currentScope()
  return scope && { engine: nameOf(scope.engine), ...(scope.step === undefined ? undefined : { step: scope.step }) }
}

/** Runs a call in the scope of its caller, if the caller is code of this engine's instance. So the engine detects an instance that calls itself over RPC. */
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
