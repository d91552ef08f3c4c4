import { PerdureError } from "../errors.ts"

/** The limits of an engine's inputs. Every limit can be set, and the error of each names it. */
export interface Limits {
  /** The maximum characters of an id; more throw `BAD_ID`. Default 256. */
  readonly idLengthMax: number
  /** The maximum characters of a workflow's name; more throw `BAD_NAME`. Default 64. */
  readonly workflowNameLengthMax: number
  /** The maximum characters of an event type; more throw `BAD_NAME`. Default 100. */
  readonly eventTypeLengthMax: number
  /** The maximum characters of a step's name; more throw `BAD_NAME`. Default 256. */
  readonly stepNameLengthMax: number
  /** The maximum encoded bytes of one input, result or event; more throw `PAYLOAD_TOO_LARGE`. Default 8 MiB. */
  readonly payloadBytesMax: number
  /** The maximum encoded bytes of an instance's memo; more throw `PAYLOAD_TOO_LARGE`. Default 4 KiB. */
  readonly memoBytesMax: number
  /** The maximum number of steps, sleeps and waits in one run; more fail the run with `LIMIT_EXCEEDED`. Default 25,000. */
  readonly stepsMax: number
}

export const defaultLimits: Limits = {
  idLengthMax: 256,
  workflowNameLengthMax: 64,
  eventTypeLengthMax: 100,
  stepNameLengthMax: 256,
  payloadBytesMax: 8 * 1024 * 1024,
  memoBytesMax: 4 * 1024,
  stepsMax: 25_000,
}

/** The characters that a kind of name may have. */
interface Alphabet {
  /** The start of the rule's sentence, such as "an id". */
  readonly what: string
  readonly wellFormed: RegExp
  readonly notAllowed: RegExp
  /** The characters beside letters and digits. */
  readonly marks: string
}

const nameAlphabet: Alphabet = { what: "a name", wellFormed: /^\w[\w.:@-]*$/, notAllowed: /[^\w.:@-]/u, marks: ". _ : @ -" }

/**
 * Ids stand unencoded in URL paths and unquoted in command lines, and they name Durable Objects. So ids have no `/`, `?`, `#`, `%` and spaces, no `+`,
 * which many programs decode as a space, and no characters that a shell expands (`$ ! * ( ) ' | & ;`). They have no letters beyond ASCII, because some
 * of these have several encodings that look alike.
 */
const idAlphabet: Alphabet = { what: "an id", wellFormed: /^\w[\w.:@~=,-]*$/, notAllowed: /[^\w.:@~=,-]/u, marks: ". _ : @ - ~ = ," }

/** Checks the id of an instance or a schedule. */
export function checkId(id: string, lengthMax = defaultLimits.idLengthMax): void {
  const problem = problemOf(id, lengthMax, idAlphabet)
  if (problem !== undefined) throw new PerdureError("BAD_ID", `id ${shown(id)} ${problem}`, { details: { id } })
}

export function checkWorkflowName(name: string, lengthMax = defaultLimits.workflowNameLengthMax): void {
  const problem = problemOf(name, lengthMax)
  if (problem !== undefined) throw new PerdureError("BAD_NAME", `workflow name ${shown(name)} ${problem}`, { details: { name } })
}

/** Checks the name of a task queue. */
export function checkQueue(queue: string, lengthMax = defaultLimits.workflowNameLengthMax): void {
  const problem = problemOf(queue, lengthMax)
  if (problem !== undefined) throw new PerdureError("BAD_NAME", `task queue ${shown(queue)} ${problem}`, { details: { queue } })
}

export function checkEventType(type: string, lengthMax = defaultLimits.eventTypeLengthMax): void {
  const problem = lengthProblemOf(type, lengthMax)
  if (problem !== undefined) throw new PerdureError("BAD_NAME", `event type ${shown(type)} ${problem}`, { details: { type } })
}

const tagLengthMax = 128
const tagsMax = 32
const noTags: readonly string[] = []

/** Checks tags, and removes duplicates. */
export function checkTags(tags: readonly string[] | undefined): readonly string[] {
  if (tags === undefined) return noTags
  if (!isList(tags)) throw new PerdureError("BAD_OPTION", `tags is ${shown(tags)}; give a list of strings`, { details: { option: "tags" } })
  const unique = [...new Set(tags)]
  if (unique.length > tagsMax) throw new PerdureError("BAD_OPTION", `an instance has at most ${tagsMax} tags; ${unique.length} were given`)
  for (const tag of unique) {
    const problem = lengthProblemOf(tag, tagLengthMax)
    if (problem !== undefined) throw new PerdureError("BAD_NAME", `tag ${shown(tag)} ${problem}`, { details: { tag } })
  }
  return unique
}

/** Checks a request id. It becomes the incarnation of the instance, so a caller must never use it twice. */
export function checkRequestId(requestId: string | undefined): string | undefined {
  if (requestId === undefined || (typeof requestId === "string" && /^[\w-]{16,64}$/.test(requestId))) return requestId
  throw new PerdureError("BAD_OPTION", `requestId ${shown(requestId)} is not random text of 16 to 64 letters, digits, _ and -`, {
    details: { option: "requestId" },
  })
}

/** The problem of a name that may have any characters but has a maximum length. Undefined: none. Callers without types may pass anything. */
export function lengthProblemOf(name: unknown, lengthMax: number): string | undefined {
  if (typeof name !== "string") return "is not a string"
  if (name === "") return Number.isFinite(lengthMax) ? `is empty; use 1 to ${lengthMax} characters` : "is empty; use at least one character"
  if (name.length > lengthMax) return `has ${name.length} characters; at most ${lengthMax} are allowed`
  return undefined
}

function problemOf(name: string, lengthMax: number, { what, wellFormed, notAllowed, marks }: Alphabet = nameAlphabet): string | undefined {
  const problem = lengthProblemOf(name, lengthMax)
  if (problem !== undefined || wellFormed.test(name)) return problem
  const rule = `${what} begins with a letter (A to Z, a to z), a digit or _, and has up to ${lengthMax} letters, digits and ${marks}`
  const found = notAllowed.exec(name)
  if (found) return `contains ${JSON.stringify(found[0])} at character ${Array.from(name.slice(0, found.index)).length + 1}; ${rule}`
  return `begins with ${JSON.stringify(name.charAt(0))}; ${rule}`
}

/** A value for an error message. Text is quoted, and cut if it is long. For an object only its type is shown, because its getters might throw. */
export function shown(name: unknown): string {
  if (typeof name === "object" && name !== null) return isList(name) ? "a list" : "an object"
  if (typeof name === "function") return "a function"
  if (typeof name !== "string") return String(name)
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
}

/** Whether a value is an array. False for a revoked proxy, on which `Array.isArray` throws. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}
