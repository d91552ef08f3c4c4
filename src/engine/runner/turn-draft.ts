import type { Entry } from "../../core/journal/journal.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { EntriesText } from "../../core/journal/turn-codec.ts"
import type { NewInstance, NewMessage, RowState, RunReference, Turn } from "../../ports/journal-store.ts"
import type { NewTask } from "../../ports/task-store.ts"
import type { CommitResult } from "../worker/group-committer.ts"

/** An action that may happen only once a turn is durable. */
export interface AfterCommit {
  afterCommit(): void
}

/** A turn with this many entries, or this much text, is written before more joins it: a longer write would delay all other instances. */
const entriesMax = 1_000
const lengthMax = 4 * 1024 * 1024

/**
 * A turn of one instance. While it is a draft, it gathers what has happened since the last turn. Once it is sealed, it is the turn that the store writes.
 * One object serves for both, because there is a turn for every step.
 */
export class TurnDraft extends EntriesText implements Turn {
  readonly position: number
  readonly at: number
  readonly codecs: PayloadCodecs | undefined
  turn = ""
  instance = ""
  incarnation = ""
  follows: string | undefined = undefined
  run = 0
  entries = ""
  create: NewInstance | undefined = undefined
  within: RunReference | undefined = undefined
  state: RowState | undefined = undefined
  tags: readonly string[] | undefined = undefined
  memo: string | undefined = undefined
  consumed: number[] | undefined = undefined
  /**
   * The turn is lost if the inbox has a message after this one. A timeout and a directly recorded event set it: neither may overtake an event whose
   * sender was told that it is delivered.
   */
  inboxSeen: number | undefined = undefined
  discardInbox: boolean | undefined = undefined
  by: string | undefined = undefined
  sends: readonly NewMessage[] | undefined = undefined
  ifQueued: boolean | undefined = undefined
  tasks: NewTask[] | undefined = undefined
  endsTasks: string[] | "all" | undefined = undefined
  /** Gets the result of the turn before anybody else. */
  onResult: ((result: CommitResult) => void) | undefined = undefined
  /** The actions after the commit: attempts begin, nested results are delivered. Most turns have one. */
  #firstAfterCommit: AfterCommit | undefined = undefined
  #moreAfterCommit: AfterCommit[] | undefined = undefined

  constructor(position: number, at: number, codecs: PayloadCodecs | undefined) {
    super(codecs)
    this.codecs = codecs
    this.position = position
    this.at = at
  }

  /** The position of the last entry. */
  get end(): number {
    return this.position + this.count - 1
  }

  get isLong(): boolean {
    return this.count >= entriesMax || this.length >= lengthMax
  }

  /** The turn consumes this message of the inbox. */
  consume(seq: number): void {
    this.consumed ??= []
    this.consumed.push(seq)
  }

  addTask(task: NewTask): void {
    this.tasks ??= []
    this.tasks.push(task)
  }

  /** Ends the task with this turn. A task that this turn would write is not written at all. */
  endTask(id: string): void {
    const others = this.tasks?.filter((task) => task.id !== id)
    if (others && others.length < (this.tasks?.length ?? 0)) this.tasks = others.length === 0 ? undefined : others
    else if (this.endsTasks === undefined) this.endsTasks = [id]
    else if (this.endsTasks !== "all") this.endsTasks.push(id)
  }

  /** Ends all tasks of the instance with this turn. */
  endAllTasks(): void {
    this.tasks = undefined
    this.endsTasks = "all"
  }

  whenCommitted(then: AfterCommit): void {
    if (this.#firstAfterCommit === undefined) this.#firstAfterCommit = then
    else if (this.#moreAfterCommit) this.#moreAfterCommit.push(then)
    else this.#moreAfterCommit = [then]
  }

  runAfterCommit(): void {
    this.#firstAfterCommit?.afterCommit()
    if (this.#moreAfterCommit) for (const then of this.#moreAfterCommit) then.afterCommit()
  }

  /** A new turn with one more entry. This draft stays as it is, in case the new turn is not written. */
  withEntry(entry: Entry): TurnDraft {
    const turn = Object.assign(new TurnDraft(this.position, this.at, this.codecs), this)
    turn.addAll(this)
    turn.add(entry)
    turn.#firstAfterCommit = this.#firstAfterCommit
    turn.#moreAfterCommit = this.#moreAfterCommit
    return turn
  }

  /** Turns the draft into a turn that can be written. Without a state the row stays as it is. `follows`: the last turn of the journal; undefined: this turn creates the instance. */
  seal(turn: string, { id, incarnation }: NewInstance, run: number, state: RowState | undefined, follows: string | undefined): this {
    this.turn = turn
    this.follows = follows
    this.instance = id
    this.incarnation = incarnation
    this.run = run
    this.state = state
    this.entries = this.text
    return this
  }
}
