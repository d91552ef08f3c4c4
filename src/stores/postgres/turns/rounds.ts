import type { Turn } from "../../../ports/journal-store.ts"
import { turnSequenceKey } from "../../shared/turn.ts"
import type { DatabaseNames, Queries } from "../connection/database.ts"
import type { FlowSession } from "../flow-control/flow-session.ts"
import { writeTurns, type Written } from "./turn-batch-writer.ts"

/** Indexes of the turns of each round. */
export type Rounds = readonly (readonly number[])[]

/**
 * Divides a batch into rounds. The turns of a round are written together, and the rounds one after another; the outcome is the same as if each turn was written
 * alone. A round has one turn of each instance, and a turn that depends on another turn of the batch is in a later round. Most batches have one round.
 */
export function inRounds(turns: readonly Turn[]): Rounds {
  if (isOneRound(turns)) return [turns.map((_, at) => at)]
  const rounds: number[][] = []
  /** The first round in which a turn of the instance may be. */
  const free = new Map<string, number>()
  const created = new Set<string>()
  const freeFrom = (id: string) => free.get(id) ?? 0
  turns.forEach(({ instance, within, sends = [], create }, at) => {
    const targets = sends.filter((message) => created.has(message.instance) && message.instance !== instance)
    const round = Math.max(freeFrom(instance), within ? freeFrom(within.instance) : 0, ...targets.map((message) => freeFrom(message.instance)))
    ;(rounds[round] ??= []).push(at)
    if (create) created.add(instance)
    const touched = [instance, ...(within ? [within.instance] : []), ...sends.map((message) => message.instance)]
    for (const id of touched) free.set(id, Math.max(freeFrom(id), round + 1))
  })
  return rounds
}

/** Most batches have turns of different instances that do not depend on each other. */
function isOneRound(turns: readonly Turn[]): boolean {
  const instances = new Set(turns.map(({ instance }) => instance))
  return instances.size === turns.length && turns.every(({ within, sends }) => within === undefined && !sends?.length)
}

/** Writes turns in rounds within a transaction. `session`: the transaction has the locks of flow control. */
export async function writeRounds(
  queries: Queries,
  database: DatabaseNames,
  turns: readonly Turn[],
  rounds: Rounds,
  session: FlowSession | undefined,
): Promise<readonly Written[]> {
  const written: Written[] = turns.map(() => "lost")
  // A turn that follows a lost turn is lost, too. A turn that follows a turn which was left over is written after that turn.
  const barred = new Map<string, Written>()
  for (const round of rounds) {
    const members = round.filter((at) => !barred.has(turnSequenceKey(turns[at]!)))
    for (const at of round) written[at] = barred.get(turnSequenceKey(turns[at]!)) ?? "lost"
    if (members.length === 0) continue
    const ofRound = members.map((at) => turns[at]!)
    const outcomes = session === undefined ? await writeTurns(queries, database, ofRound, "plain") : await writeUnderLocks(queries, database, ofRound, session)
    members.forEach((at, index) => {
      const outcome = outcomes[index] ?? "lost"
      written[at] = outcome
      if (outcome === "lost" || outcome === "flow") barred.set(turnSequenceKey(turns[at]!), outcome)
    })
  }
  return written
}

/** Writes the turns, and then what they change of slots and queues. */
async function writeUnderLocks(queries: Queries, database: DatabaseNames, turns: readonly Turn[], session: FlowSession): Promise<readonly Written[]> {
  // Flow control needs the states before the turns.
  const before = await session.recordsOf(turns.filter(({ state, create }) => state !== undefined && create === undefined).map(({ instance }) => instance))
  const ofId = new Map(before.map((record) => [record.id, record]))
  const written = await writeTurns(queries, database, turns, "with flow")
  const changes = turns.flatMap(({ instance, state }, at) => {
    const record = ofId.get(instance)
    return record !== undefined && state !== undefined && written[at] === "written" ? [{ record, state }] : []
  })
  if (changes.length > 0) {
    await session.run(
      changes.map(({ record }) => record),
      (admission, own) => changes.forEach(({ record, state }) => admission.applyState(own(record), record.run, state)),
    )
  }
  return written
}
