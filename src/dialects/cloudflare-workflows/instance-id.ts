import { WorkflowError } from "./workflow-errors.ts"

/**
 * Ids of instances are unique per workflow here, and unique in the engine natively. So the native id is `<workflow>:<id>`:
 *
 *   checkout:c-1                                   created by a program
 *   checkout.cron.0_20_2a_20_2a_20_2a_20_2a:17…    started by the cron schedule "0 * * * *" for the time 17…
 */
const created = /^[a-zA-Z0-9_][a-zA-Z0-9-_]*$/
const addressable = /^[a-zA-Z0-9, */#_.:-]+$/
const idLengthMax = 100
const addressableLengthMax = 271

export function isCreatableId(id: unknown): id is string {
  return typeof id === "string" && id.length <= idLengthMax && created.test(id)
}

export function isAddressableId(id: unknown): id is string {
  return typeof id === "string" && id.length <= addressableLengthMax && addressable.test(id)
}

export function checkCreatableId(id: unknown): asserts id is string {
  if (!isCreatableId(id)) throw new WorkflowError("Workflow instance has invalid id")
}

export function nativeId(workflow: string, id: string): string {
  return id.startsWith(`${workflow}.cron.`) ? id : `${workflow}:${id}`
}

/** The id that programs see. An instance of a schedule has no shorter one. */
export function shortId(workflow: string, id: string): string {
  return id.startsWith(`${workflow}:`) ? id.slice(workflow.length + 1) : id
}

export function cronScheduleId(workflow: string, cron: string): string {
  return `${workflow}.cron.${cron.replace(/[^A-Za-z0-9]/g, (character) => `_${character.charCodeAt(0).toString(16).padStart(2, "0")}`)}`
}

/** The cron expression that `cronScheduleId` wrote into the id. Undefined: it is the id of another schedule. */
export function cronOf(workflow: string, scheduleId: string): string | undefined {
  const prefix = `${workflow}.cron.`
  if (!scheduleId.startsWith(prefix)) return undefined
  return scheduleId.slice(prefix.length).replace(/_([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
