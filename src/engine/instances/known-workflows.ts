import { PerdureError } from "../../core/errors.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { Offer } from "../../ports/journal-store.ts"
import { nearestName } from "../../core/arguments/nearest-name.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { quotedList } from "../diagnostics/why-sentences.ts"

const offersKeptMs = 250

/**
 * The workflows that this engine has no code of, but that are known: a running worker offers them, or the store has an instance of them. A start
 * asks before it is written, so that a misspelt name is refused. Otherwise the instance would wait for ever. The answer may be out of date at once,
 * and only the refusal depends on it.
 */
export class KnownWorkflows {
  readonly #directory: Directory
  readonly #registry: WorkflowRegistry
  readonly #host: Host
  /** Versions that were found. The store is not asked for them again. */
  readonly #known = new Map<string, Promise<boolean>>()

  #asked: { readonly at: number; readonly offers: Promise<readonly (readonly Offer[])[]> } | undefined

  constructor(directory: Directory, registry: WorkflowRegistry, host: Host) {
    this.#directory = directory
    this.#registry = registry
    this.#host = host
  }

  /**
   * The version of a start by name, if this engine has no code of the workflow. It is the last version that running workers offer, or else the version
   * of the newest instance. If workers offer different versions, as in a rolling deploy, the version of the newest instance is used while a worker
   * still offers it.
   */
  async versionOf(workflow: string): Promise<string | undefined> {
    const lastsOf = (offers: readonly (readonly Offer[])[]) =>
      new Set(offers.map((offered) => offered.findLast((offer) => offer.workflow === workflow)?.version).filter((last) => last !== undefined))
    let lasts = lastsOf(await this.#offers())
    if (lasts.size === 0) lasts = lastsOf(await this.#offers(true))
    if (lasts.size === 1) return [...lasts][0]
    const newest = (await this.#newest(workflow))?.version
    return lasts.size === 0 || (newest !== undefined && lasts.has(newest)) ? newest : [...lasts].at(-1)
  }

  /** Throws `UNKNOWN_WORKFLOW` unless the version is known. */
  async require(workflow: string, version: string | undefined): Promise<void> {
    if (version !== undefined && (await this.#isKnown(workflow, version))) return
    throw await this.#refusal(workflow, version)
  }

  #isKnown(workflow: string, version: string): Promise<boolean> {
    const key = JSON.stringify([workflow, version])
    const before = this.#known.get(key)
    if (before) return before
    const known = this.#look(workflow, version)
    this.#known.set(key, known)
    const forget = () => this.#known.delete(key)
    known.then((is) => is || forget(), forget)
    return known
  }

  async #look(workflow: string, version: string): Promise<boolean> {
    for (const isFresh of [false, true])
      if ((await this.#offers(isFresh)).flat().some((offer) => offer.workflow === workflow && offer.version === version)) return true
    const { items } = await this.#directory.list({ workflow, version }, { limit: 1, order: "newest" })
    return items.length > 0
  }

  /** The offers of each running worker. The answer is cached for a moment, because each item of a batch asks. A refusal always rests on a fresh answer. */
  #offers(isFresh = false): Promise<readonly (readonly Offer[])[]> {
    const now = this.#host.now()
    if (!isFresh && this.#asked && now - this.#asked.at < offersKeptMs) return this.#asked.offers
    const offers = this.#directory.workers().then((workers) => workers.filter(({ until }) => until > now).map((worker) => worker.offers ?? []))
    this.#asked = { at: now, offers }
    offers.catch(() => (this.#asked = undefined))
    return offers
  }

  async #refusal(workflow: string, version: string | undefined): Promise<PerdureError> {
    const offers = (await this.#offers()).flat()
    const newest = await this.#newest(workflow)
    const others = [...offers.filter((offer) => offer.workflow === workflow), ...(newest ? [newest] : [])]
    const versions = new Set([...this.#registry.versions(workflow), ...others.map((one) => one.version)])
    const nearest = versions.size > 0 ? undefined : nearestName(workflow, [...this.#registry.names, ...offers.map((offer) => offer.workflow)])
    const hint = versions.size > 0 ? `; known is version ${quotedList([...versions])}` : nearest === undefined ? "" : `; did you mean "${nearest}"?`
    const what = version === undefined ? `workflow "${workflow}"` : `version "${version}" of workflow "${workflow}"`
    const details = { workflow, version, ...(versions.size > 0 ? { versions: [...versions] } : undefined), ...(nearest && { nearest }) }
    // A program that registers workflows has most likely misspelt the name, or forgotten to register this workflow.
    if (version === undefined && this.#registry.names.length > 0)
      return new PerdureError("UNKNOWN_WORKFLOW", `${this.#registry.unknown(workflow, version).message}${hint}`, { details })
    return new PerdureError(
      "UNKNOWN_WORKFLOW",
      `no process knows ${what}: it is not registered here, no running worker offers it, and the store has no instance of it${hint}${hint.endsWith("?") ? "" : "."} Start a worker that has it first, or say allowUnknown: true to let the instance wait for one`,
      { details },
    )
  }

  async #newest(workflow: string): Promise<{ readonly version: string } | undefined> {
    const { items } = await this.#directory.list({ workflow }, { limit: 1, order: "newest" })
    return items[0]
  }
}
