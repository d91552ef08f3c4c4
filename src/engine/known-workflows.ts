import { PerdureError } from "../core/errors.ts"
import type { Directory } from "../ports/directory.ts"
import type { Host } from "../ports/host.ts"
import type { Offer } from "../ports/journal-store.ts"
import { nearestName } from "../core/nearest-name.ts"
import type { WorkflowRegistry } from "./registry.ts"
import { quotedList } from "./why-sentences.ts"

/**
 * Which workflows somebody knows that this engine has no code of: a running worker offers them, or the store has an instance of them. It is
 * asked before a start is written, so that a misspelt name is refused, and does not wait for ever. What it says may be out of date at once:
 * nothing but the refusal rests on it.
 */
export class KnownWorkflows {
  readonly #directory: Directory
  readonly #registry: WorkflowRegistry
  readonly #host: Host
  /** What was found to be known, which is not asked again. */
  readonly #known = new Map<string, Promise<boolean>>()

  constructor(directory: Directory, registry: WorkflowRegistry, host: Host) {
    this.#directory = directory
    this.#registry = registry
    this.#host = host
  }

  /** What a start by name alone takes where this engine has no code of it: the last version that a running worker offers, else that of the newest instance. */
  async versionOf(workflow: string): Promise<string | undefined> {
    const offered = (await this.#offers()).findLast((offer) => offer.workflow === workflow)
    return offered?.version ?? (await this.#newest(workflow))?.version
  }

  /** Throws UNKNOWN_WORKFLOW unless somebody knows that version. */
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
    if ((await this.#offers()).some((offer) => offer.workflow === workflow && offer.version === version)) return true
    const { items } = await this.#directory.list({ workflow, version }, { limit: 1, order: "newest" })
    return items.length > 0
  }

  async #offers(): Promise<readonly Offer[]> {
    const now = this.#host.now()
    return (await this.#directory.workers()).flatMap(({ until, offers }) => (until > now ? (offers ?? []) : []))
  }

  async #refusal(workflow: string, version: string | undefined): Promise<PerdureError> {
    const offers = await this.#offers()
    const newest = await this.#newest(workflow)
    const others = [...offers.filter((offer) => offer.workflow === workflow), ...(newest ? [newest] : [])]
    const versions = new Set([...this.#registry.versions(workflow), ...others.map((one) => one.version)])
    const nearest = versions.size > 0 ? undefined : nearestName(workflow, [...this.#registry.names, ...offers.map((offer) => offer.workflow)])
    const hint = versions.size > 0 ? `; known is version ${quotedList([...versions])}` : nearest === undefined ? "" : `; did you mean "${nearest}"?`
    const what = version === undefined ? `workflow "${workflow}"` : `version "${version}" of workflow "${workflow}"`
    const details = { workflow, version, ...(versions.size > 0 ? { versions: [...versions] } : undefined), ...(nearest && { nearest }) }
    // A program that has workflows has most likely forgotten to register this one, or misspelt it.
    if (version === undefined && this.#registry.names.length > 0)
      return new PerdureError("UNKNOWN_WORKFLOW", `${this.#registry.unknown(workflow, version).message}${hint}`, { details })
    return new PerdureError(
      "UNKNOWN_WORKFLOW",
      `nobody knows ${what}: it is not registered here, no running worker offers it, and the store has no instance of it${hint}${hint.endsWith("?") ? "" : "."} Start a worker that has it first, or say allowUnknown: true to let the instance wait for one`,
      { details },
    )
  }

  async #newest(workflow: string): Promise<{ readonly version: string } | undefined> {
    const { items } = await this.#directory.list({ workflow }, { limit: 1, order: "newest" })
    return items[0]
  }
}
