import { PerdureError } from "../errors.ts"
import { defaultLimits, lengthProblemOf, shown } from "./input-limits.ts"

/**
 * The id of a step: its name, behind the id of the enclosing step, and the number of the call with this name from the second one on.
 *
 *   charge            the first "charge" of the workflow
 *   charge#2          the second
 *   order/charge      "charge" inside the step "order"
 *   order#2/a%2Fb     "a/b" inside the second "order"
 *   charge#rollback   the rollback of "charge"
 *
 * In names `%`, `/` and `#` are written %25, %2F and %23, so every id can be read in one way only. Ids are in journals, so this form is durable.
 */

const rollbackMark = "#rollback"
const special = /[%/#]/
const specials = /[%/#]/g
const escapes = /%(25|2F|23)/g

export function stepId(parent: string | undefined, name: string, occurrence: number): string {
  let id = special.test(name) ? name.replace(specials, escape) : name
  if (occurrence > 1) id = `${id}#${occurrence}`
  return parent === undefined ? id : `${parent}/${id}`
}

/** The id of a step's rollback. No other step can have it, because occurrences are numbers. */
export function rollbackId(id: string): string {
  return `${id}${rollbackMark}`
}

export function isRollback(id: string): boolean {
  return id.endsWith(rollbackMark)
}

/** Whether the step is a rollback, or is inside one. */
export function isOfRollback(id: string): boolean {
  return id.includes(rollbackMark)
}

/** The name that the workflow's code has given the step. */
export function stepName(id: string): string {
  const start = id.lastIndexOf("/") + 1
  const hash = id.indexOf("#", start)
  const name = id.slice(start, hash === -1 ? undefined : hash)
  return name.includes("%") ? name.replace(escapes, unescape) : name
}

/** Whether the step is inside another step. */
export function isNested(id: string): boolean {
  return id.includes("/")
}

export function parentOf(id: string): string | undefined {
  const end = id.lastIndexOf("/")
  return end === -1 ? undefined : id.slice(0, end)
}

export function checkStepName(name: string, lengthMax = defaultLimits.stepNameLengthMax): void {
  const problem = lengthProblemOf(name, lengthMax)
  if (problem !== undefined) throw new PerdureError("BAD_NAME", `step name ${shown(name)} ${problem}`, { details: { name } })
}

function escape(character: string): string {
  return character === "%" ? "%25" : character === "/" ? "%2F" : "%23"
}

function unescape(code: string): string {
  return code === "%25" ? "%" : code === "%2F" ? "/" : "#"
}
