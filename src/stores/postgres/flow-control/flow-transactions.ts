import { AdmissionNotifier } from "../../shared/flow-rows.ts"
import type { Database, Queries } from "../connection/database.ts"
import { FlowSession } from "./flow-session.ts"
import type { Notifier } from "../notifications/notifier.ts"

/** Transactions under the locks of flow control. Afterwards the listeners are told which instances were admitted. */
export class FlowTransactions {
  readonly admissions = new AdmissionNotifier()
  readonly #database: Database
  readonly #notifier: Notifier

  constructor(database: Database, notifier: Notifier) {
    this.#database = database
    this.#notifier = notifier
    notifier.onAdmitted = (ids) => this.admissions.notify(ids)
  }

  /** Tells this process and the other processes which instances were admitted. */
  notifyAdmitted(admitted: readonly string[]): void {
    this.#notifier.admitted(admitted)
    this.admissions.notify(admitted)
  }

  /** `workflows` returns, before anything is locked, the workflows whose instances with limits the transaction concerns. */
  async transaction<T>(
    workflows: (queries: Queries) => Promise<readonly string[]>,
    fn: (session: FlowSession, queries: Queries, locked: ReadonlySet<string>) => Promise<T>,
  ): Promise<T> {
    let admitted: readonly string[] = []
    try {
      return await this.#database.transaction(async (queries) => {
        admitted = []
        const locked = await workflows(queries)
        const session = await FlowSession.begin(queries, this.#database, locked)
        const answer = await fn(session, queries, new Set(locked))
        admitted = session.admitted
        return answer
      })
    } finally {
      // Also if the answer to the commit was lost, because the instances may be admitted.
      this.notifyAdmitted(admitted)
    }
  }
}
