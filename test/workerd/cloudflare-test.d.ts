/** The used part of the module that the test runner provides inside workerd. */
declare module "cloudflare:test" {
  import type { DurableObjectId, DurableObjectNamespace, DurableObjectState, DurableObjectStub } from "cloudflare:workers"

  export function runInDurableObject<T>(stub: DurableObjectStub, callback: (object: object, state: DurableObjectState) => T | Promise<T>): Promise<T>
  export function runDurableObjectAlarm(stub: DurableObjectStub): Promise<boolean>
  export function evictDurableObject(stub: DurableObjectStub): Promise<void>
  export function reset(): Promise<void>
  export function abortAllDurableObjects(): Promise<void>
  export function listDurableObjectIds(namespace: DurableObjectNamespace): Promise<DurableObjectId[]>
}
