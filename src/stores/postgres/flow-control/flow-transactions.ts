import { AdmissionNotifier } from "../../shared/flow-rows.ts"
import type { Database, Queries } from "../connection/database.ts"
import { FlowSession } from "./flow-session.ts"
import type { Notifier } from "../notifications/notifier.ts"

/** Transactions that flow control has a say in; whoever listens is told afterwards who was let in. */
export class FlowTransactions {
  readonly news = new AdmissionNotifier()
  readonly #database: Database
  readonly #notifier: Notifier

  constructor(database: Database, notifier: Notifier) {
    this.#database = database
    this.#notifier = notifier
    notifier.onAdmitted = (ids) => this.news.notify(ids)
  }

  /** They were let in: to whoever is here, and to others. */
  tell(letIn: readonly string[]): void {
    this.#notifier.admitted(letIn)
    this.news.notify(letIn)
  }

  /** `workflows` says, before anything is locked, which workflows' instances with limits it is about. */
  async transaction<T>(
    workflows: (queries: Queries) => Promise<readonly string[]>,
    fn: (session: FlowSession, queries: Queries, locked: ReadonlySet<string>) => Promise<T>,
  ): Promise<T> {
    let letIn: readonly string[] = []
    try {
      return await this.#database.transaction(async (queries) => {
        letIn = []
        const locked = await workflows(queries)
        const session = await FlowSession.begin(queries, this.#database, locked)
        const answer = await fn(session, queries, new Set(locked))
        letIn = session.letIn
        return answer
      })
    } finally {
      // Also where the answer to the commit was lost: they may be let in.
      this.tell(letIn)
    }
  }
}
