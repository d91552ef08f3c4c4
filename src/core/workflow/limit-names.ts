import { concurrencyLimits, type ConcurrencyLimit, type FlowOptions } from "./flow-options.ts"

/**
 * What stores call the limits of a workflow. Slots, lines and numbers that were set belong to the name, so it must survive a deploy
 * that writes the limits in another order. A limit with a name of its own is known by that; the others by their place among themselves,
 * that of the whole workflow before those of keys.
 */

export const rateName = "rate"

const given = "concurrency:"

export function nameOfPlace(index: number): string {
  return index === 0 ? "concurrency" : `concurrency.${index}`
}

export function nameOfGiven(name: string): string {
  return `${given}${name}`
}

/** The name that the workflow's author gave; undefined: none. */
export function givenName(stored: string): string | undefined {
  return stored.startsWith(given) ? stored.slice(given.length) : undefined
}

/** With the names that stores know them by, and in an order that does not depend on how they are written. */
export function namedLimits<In>(options: FlowOptions<In>): readonly (ConcurrencyLimit<In> & { readonly name: string })[] {
  const limits = concurrencyLimits(options)
  const unnamed = limits.filter(({ name }) => name === undefined).toSorted((a, b) => Number(a.key !== undefined) - Number(b.key !== undefined))
  const named = limits.flatMap((limit) => (limit.name === undefined ? [] : [{ ...limit, name: nameOfGiven(limit.name) }]))
  return [...unnamed.map((limit, index) => ({ ...limit, name: nameOfPlace(index) })), ...named.toSorted((a, b) => (a.name < b.name ? -1 : 1))]
}
