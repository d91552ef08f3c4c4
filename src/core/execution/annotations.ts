import { decodeValue, encodeValue, Payload } from "../values/value-codec.ts"
import type { InstanceTags } from "../workflow/context.ts"
import { PerdureError } from "../errors.ts"
import type { EntryOf } from "../journal/journal.ts"
import { checkTags, lengthProblemOf, shown, type Limits } from "../workflow/input-limits.ts"

const keyLengthMax = 128

type Memo = Record<string, unknown>

/**
 * The tags and the memo of an instance, as its code sees and changes them. Each change is one entry. On replay the code repeats its changes in the same
 * order, so it skips as many of them as are recorded.
 */
export class Annotations implements InstanceTags {
  /** The number of changes in the journal. */
  recorded = 0
  readonly #source: AnnotationSource
  readonly #limits: Limits
  #tags: ReadonlySet<string> = new Set()
  #startMemo: Payload | undefined
  #memo: Memo | undefined
  #changes = 0

  constructor(source: AnnotationSource, limits: Limits) {
    this.#source = source
    this.#limits = limits
  }

  begin({ tags, memo }: EntryOf<"run.started">): void {
    this.#tags = new Set(tags)
    this.#startMemo = memo
  }

  get size(): number {
    return this.#tags.size
  }

  has(tag: string): boolean {
    return this.#tags.has(tag)
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#tags.values()
  }

  add(...tags: readonly string[]): void {
    this.#source.guardChange()
    this.#setTags([...this.#tags, ...tags])
  }

  delete(...tags: readonly string[]): void {
    this.#source.guardChange()
    this.#setTags([...this.#tags].filter((tag) => !tags.includes(tag)))
  }

  #setTags(tags: readonly string[]): void {
    const checked = checkTags(tags)
    if (checked.length === this.#tags.size && checked.every((tag) => this.#tags.has(tag))) return
    this.#tags = new Set(checked)
    this.#note({ type: "annotated", tags: checked })
  }

  /** Sets keys of the memo. A value of undefined removes its key. */
  setMemo(first: string | Memo, second?: unknown): void {
    this.#source.guardChange()
    const changes = typeof first === "string" ? { [first]: second } : checkRecord(first)
    this.#memo ??= (this.#startMemo?.decode() as Memo | undefined) ?? {}
    const memo = { ...this.#memo }
    for (const [key, value] of Object.entries(changes)) {
      const problem = lengthProblemOf(key, keyLengthMax)
      if (problem !== undefined) throw new PerdureError("BAD_NAME", `memo key ${shown(key)} ${problem}`, { details: { key } })
      if (value === undefined) delete memo[key]
      else memo[key] = value
    }
    const encoded = encodeValue(memo, { what: "memo", bytesMax: this.#limits.memoBytesMax, limit: "memoBytesMax" })
    // The memo keeps a copy, so that later changes to the values have no effect.
    this.#memo = decodeValue(encoded) as Memo
    this.#note({ type: "annotated", value: Payload.of(encoded) })
  }

  #note(entry: EntryOf<"annotated">): void {
    if (++this.#changes > this.recorded) this.#source.annotate(entry)
  }
}

function checkRecord(changes: unknown): Memo {
  const prototype: unknown = typeof changes === "object" && changes !== null ? Object.getPrototypeOf(changes) : undefined
  if (prototype === Object.prototype || prototype === null) return changes as Memo
  throw new PerdureError("BAD_OPTION", `setMemo takes a key and a value, setMemo("stage", "packing"), or an object; it got a value of type ${typeof changes}`)
}

/** What annotations need of the execution. */
export interface AnnotationSource {
  /** Throws inside a step and in a handler that may only read. */
  guardChange(): void
  annotate(entry: EntryOf<"annotated">): void
}
