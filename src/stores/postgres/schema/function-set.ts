import { batchFunctions } from "./batch-functions.ts"
import { claimFunctions } from "./claim-functions.ts"
import { clockFunctions } from "./clock-functions.ts"
import { type DefineFunction, type FunctionDefinition, FunctionDefinitions, shortHash } from "./function-definitions.ts"
import { messageFunctions } from "./message-functions.ts"
import { readFunctions } from "./read-functions.ts"
import { singleTurnFunctions } from "./single-turn-functions.ts"
import { taskFunctions } from "./task-functions.ts"
import { turnFunctions } from "./turn-functions.ts"

/** The whole name of each function, as statements have it. */
export type FunctionNames = ReturnType<typeof defineFunctions>

/**
 * The PL/pgSQL functions of one version of the code in one schema. The name of each function ends with a hash of its text. So two versions of the code work
 * on one database: each version calls the functions that it was written for, and they share the functions whose text is the same.
 */
export interface FunctionSet {
  readonly hash: string
  readonly names: FunctionNames
  readonly definitions: readonly FunctionDefinition[]
}

const known = new Map<string, FunctionSet>()

/** `schema`: quoted. */
export function functionSetOf(schema: string): FunctionSet {
  const set = known.get(schema) ?? editedFunctionSet(schema, (text) => text)
  known.set(schema, set)
  return set
}

/** The functions of a version of the code that has other texts: for tests. */
export function editedFunctionSet(schema: string, edit: (text: string) => string): FunctionSet {
  const definitions = new FunctionDefinitions(schema, edit)
  const names = defineFunctions(schema, definitions.define)
  return { names, definitions: definitions.all, hash: shortHash(definitions.all.map(({ name }) => name).join()) }
}

function defineFunctions(s: string, defineFunction: DefineFunction) {
  const clock = clockFunctions(defineFunction)
  const messages = messageFunctions(s, defineFunction, clock)
  const turns = turnFunctions(s, defineFunction, messages)
  const tasks = taskFunctions(s, defineFunction, clock)
  return {
    ...clock,
    ...messages,
    ...turns,
    ...tasks,
    ...batchFunctions(s, defineFunction, { ...clock, ...messages, ...turns, ...tasks }),
    ...singleTurnFunctions(s, defineFunction, clock),
    ...claimFunctions(s, defineFunction, { ...clock, ...turns }),
    ...readFunctions(s, defineFunction),
  }
}
