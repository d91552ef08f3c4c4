import { isTerminal } from "../../../core/journal/status.ts"
import type { Turn, TurnOutcome } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { turnSequenceKey } from "../../shared/turn.ts"
import { text } from "../reads/columns.ts"
import type { Database, Queries } from "../connection/database.ts"
import type { FlowSession } from "../flow-control/flow-session.ts"
import type { PushedMessages } from "../notifications/pushed-messages.ts"
import type { ListenConnectionCalls } from "../notifications/listen-connection-calls.ts"
import { writeSingleTurn } from "./single-turn-writer.ts"
import type { FlowTransactions } from "../flow-control/flow-transactions.ts"
import { isTaken } from "../connection/postgres-failure.ts"
import { inRounds, outcomeOf, writeTurns, type Written } from "./turn-batch-writer.ts"

const knownMax = 10_000

/**
 * Commits turns: one round trip, which is a transaction of its own. Turns that give another state to an instance with limits are left
 * over by it, and go into a second transaction under the locks of flow control.
 */
export class TurnCommitter {
  readonly #database: Database
  readonly #calls: ListenConnectionCalls
  readonly #flow: FlowTransactions
  readonly #heard: PushedMessages
  /** Instances with a turn that could not be written alone: those with limits cannot have any. */
  readonly #unlone = new Set<string>()
  /** Instances that were claimed with limits. */
  readonly #limited = new Set<string>()

  constructor(database: Database, calls: ListenConnectionCalls, flow: FlowTransactions, heard: PushedMessages) {
    this.#database = database
    this.#calls = calls
    this.#flow = flow
    this.#heard = heard
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const unsure = turns.filter((turn) => this.#heard.isUnsure(turn))
    const outcomes = await (unsure.length === 0 ? this.#commit(turns) : this.#commitUnsure(turns, unsure))
    // Not where that failed: they may be sent again, and are as unsure then.
    this.#heard.settle(turns)
    return outcomes
  }

  /** Some take in messages that may not be there: what is not there any more was taken in before, or never was. */
  async #commitUnsure(turns: readonly Turn[], unsure: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const [turn] = turns
    // It looks by itself.
    if (turns.length === 1 && turn && (await this.#database.persistently(() => writeSingleTurn(this.#calls, turn)))) return ["committed"]
    const confirmed = new Set(await this.#database.persistently(() => this.#heard.confirmed(this.#database, this.#database, unsure)))
    const refused = new Set(unsure.filter((one) => !confirmed.has(one)).map(turnSequenceKey))
    const others = turns.filter((one) => !refused.has(turnSequenceKey(one)))
    const outcomes = others.length === 0 ? [] : await this.#commit(others)
    let next = 0
    return turns.map((one) => (refused.has(turnSequenceKey(one)) ? "lost" : (outcomes[next++] ?? "lost")))
  }

  async #commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const rounds = inRounds(turns)
    const written =
      rounds.length === 1
        ? await this.#writeRoundAtOnce(turns)
        : await this.#database.persistently(() => this.#database.transaction((queries) => this.#writeRounds(queries, turns, rounds, undefined)))
    const outcomes = written.map(outcomeOf)
    const left = turns.filter((_, at) => written[at] === "flow")
    if (left.length > 0) {
      const ofLeft = await this.#database.persistently(() => this.#commitWithFlow(left))
      let next = 0
      written.forEach((one, at) => {
        if (one === "flow") outcomes[at] = outcomeOf(ofLeft[next++] ?? "lost")
      })
    }
    return outcomes
  }

  /** It has limits: turns that change what it has of them are written under the locks of flow control at once, and not first without. */
  noteLimited(id: string): void {
    if (this.#limited.size >= knownMax) this.#limited.clear()
    this.#limited.add(id)
  }

  async #writeRoundAtOnce(turns: readonly Turn[]): Promise<readonly Written[]> {
    const isLeft = turns.map((turn) => this.#limited.has(turn.instance) && changesSlots(turn))
    turns.forEach(({ instance, state }) => state && isTerminal(state.status) && this.#limited.delete(instance))
    if (!isLeft.includes(true)) return this.#database.persistently(() => this.#writeAtOnce(turns))
    const others = turns.filter((_, at) => !isLeft[at])
    const written = others.length === 0 ? [] : await this.#database.persistently(() => this.#writeAtOnce(others))
    let next = 0
    return isLeft.map((left) => (left ? "flow" : (written[next++] ?? "lost")))
  }

  async #writeAtOnce(turns: readonly Turn[]): Promise<readonly Written[]> {
    const [turn] = turns
    if (turns.length === 1 && turn && !this.#unlone.has(turn.instance)) {
      if (await writeSingleTurn(this.#calls, turn)) return ["written"]
      if (this.#unlone.size >= knownMax) this.#unlone.clear()
      this.#unlone.add(turn.instance)
    }
    try {
      return await writeTurns(this.#database, this.#database, turns, "fresh")
    } catch (error) {
      if (!isTaken(error)) throw error
      return writeTurns(this.#database, this.#database, turns, "plain")
    }
  }

  /** Within a transaction of its caller, under the locks of the workflows of all instances with limits among them. */
  async write(session: FlowSession, queries: Queries, turns: readonly Turn[]): Promise<readonly Written[]> {
    return this.#writeRounds(queries, turns, inRounds(turns), session)
  }

  /** Workflows of those of these instances that have limits. */
  async limitedWorkflows(queries: Queries, turns: readonly Turn[]): Promise<readonly string[]> {
    const rows = await queries.all(
      "limited-of",
      `SELECT DISTINCT i.workflow FROM ${this.#database.schema}.instance i WHERE i.id = ANY ($1::text[]) AND i.limits IS NOT NULL`,
      turns.map(({ instance }) => toText(instance)),
    )
    return rows.map((row) => text(row, "workflow"))
  }

  async #commitWithFlow(turns: readonly Turn[]): Promise<readonly Written[]> {
    return this.#flow.transaction(
      (queries) => this.limitedWorkflows(queries, turns),
      (session, queries) => this.write(session, queries, turns),
    )
  }

  async #writeRounds(
    queries: Queries,
    turns: readonly Turn[],
    rounds: readonly (readonly number[])[],
    session: FlowSession | undefined,
  ): Promise<readonly Written[]> {
    const written: Written[] = turns.map(() => "lost")
    // What follows a turn that is lost was thought up on ground that is not there; what follows one that is left over comes after it.
    const barred = new Map<string, Written>()
    for (const round of rounds) {
      const members = round.filter((at) => !barred.has(turnSequenceKey(turns[at]!)))
      for (const at of round) written[at] = barred.get(turnSequenceKey(turns[at]!)) ?? "lost"
      if (members.length === 0) continue
      const outcomes = await this.#writeRound(
        queries,
        members.map((at) => turns[at]!),
        session,
      )
      members.forEach((at, index) => {
        const outcome = outcomes[index] ?? "lost"
        written[at] = outcome
        if (outcome === "lost" || outcome === "flow") barred.set(turnSequenceKey(turns[at]!), outcome)
      })
    }
    return written
  }

  async #writeRound(queries: Queries, turns: readonly Turn[], session: FlowSession | undefined): Promise<readonly Written[]> {
    if (session === undefined) return writeTurns(queries, this.#database, turns, "plain")
    // What they were in before counts.
    const before = await session.recordsOf(turns.filter(({ state, create }) => state !== undefined && create === undefined).map(({ instance }) => instance))
    const ofId = new Map(before.map((record) => [record.id, record]))
    const written = await writeTurns(queries, this.#database, turns, "with flow")
    const settled = turns.flatMap(({ instance, state }, at) => {
      const record = ofId.get(instance)
      return record !== undefined && state !== undefined && written[at] === "written" ? [{ record, state }] : []
    })
    if (settled.length > 0) {
      await session.run(
        settled.map(({ record }) => record),
        (admission, own) => settled.forEach(({ record, state }) => admission.applyState(own(record), record.run, state)),
      )
    }
    return written
  }
}

/** As `write_turn` has it: one that goes on running has what it had. */
function changesSlots({ create, state }: Turn): boolean {
  return create === undefined && state !== undefined && !(state.status === "running" && state.phase !== "cancelling")
}
