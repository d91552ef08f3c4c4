import { createHash } from "node:crypto"

/** A function of the database, as one version of the code needs it. */
export interface FunctionDefinition {
  /** The name in the database, which ends with a hash of the text, without the schema. */
  readonly name: string
  readonly statement: string
}

/**
 * Defines a function. `text` is everything that follows the function's name. Returns the function's whole name, for the statements that call the function.
 * A text contains the whole names of the functions that it calls, so its hash changes with theirs.
 */
export type DefineFunction = (name: string, text: string) => string

/** Whole names of functions that another function calls. */
export type Functions<Name extends string> = Readonly<Record<Name, string>>

/** Collects the functions of a schema in the order in which they are created: a function comes after the functions that it calls. */
export class FunctionDefinitions {
  readonly all: FunctionDefinition[] = []
  readonly #schema: string
  readonly #edit: (text: string) => string

  /** `edit` lets a test define the functions of another version of the code. */
  constructor(schema: string, edit: (text: string) => string) {
    this.#schema = schema
    this.#edit = edit
  }

  readonly define: DefineFunction = (name, text) => {
    const edited = this.#edit(text)
    const hashed = `${name}_${shortHash(edited)}`
    const whole = `${this.#schema}.${hashed}`
    this.all.push({ name: hashed, statement: `CREATE FUNCTION ${wholeStatement(whole + edited)}` })
    return whole
  }
}

/** Marks a text as checked for the house rule about SQL: the rule checks the text where a function is defined. */
function wholeStatement(text: string): string {
  return text
}

export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8)
}
