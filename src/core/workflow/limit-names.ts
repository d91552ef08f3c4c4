import { concurrencyLimits, type ConcurrencyLimit, type FlowOptions } from "./flow-options.ts"

/**
 * The names of a workflow's limits in stores. Slots, queues and overrides belong to the name, so a deploy that writes the limits in another order must not
 * change it. A limit that its author has named has that name. The others are numbered, the limit of the whole workflow before limits with keys.
 */

export const rateName = "rate"

const given = "concurrency:"

export function nameOfPlace(index: number): string {
  return index === 0 ? "concurrency" : `concurrency.${index}`
}

export function nameOfGiven(name: string): string {
  return `${given}${name}`
}

/** The name that the workflow's author has given. Undefined: the name is a number. */
export function givenName(stored: string): string | undefined {
  return stored.startsWith(given) ? stored.slice(given.length) : undefined
}

/** The limits with their names in stores, in an order that does not depend on the order in the workflow's options. */
export function namedLimits<In>(options: FlowOptions<In>): readonly (ConcurrencyLimit<In> & { readonly name: string })[] {
  const limits = concurrencyLimits(options)
  const unnamed = limits.filter(({ name }) => name === undefined).toSorted((a, b) => Number(a.key !== undefined) - Number(b.key !== undefined))
  const named = limits.flatMap((limit) => (limit.name === undefined ? [] : [{ ...limit, name: nameOfGiven(limit.name) }]))
  return [...unnamed.map((limit, index) => ({ ...limit, name: nameOfPlace(index) })), ...named.toSorted((a, b) => (a.name < b.name ? -1 : 1))]
}
