/** Counts the steps, sleeps and waits of each instance by their names, in the order in which the code asks for them. */
export class AskOrder {
  readonly #ids = new Map<string, string[]>()

  /** Counts from 1. `id` is the same for every attempt and on replay, so its place stays what it was. */
  placeOf(kind: string, instance: string, name: string, id: string): number {
    const key = JSON.stringify([kind, instance, name])
    const ids = this.#ids.get(key) ?? []
    this.#ids.set(key, ids)
    const known = ids.indexOf(id)
    return known === -1 ? ids.push(id) : known + 1
  }
}
