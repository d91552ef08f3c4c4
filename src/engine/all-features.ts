import { Debouncer } from "./debouncer.ts"
import { codedStore, payloadCodecs } from "./coded-store.ts"
import type { CodecSupport, EngineFeatures, FlowRules, TransactionMaker } from "./engine-features.ts"
import { flowTraits, forkTraits } from "./flow-control.ts"
import { LimitDesk } from "./limit-desk.ts"
import { StepClientTransactions } from "./step-client-transactions.ts"
import { StepTransactions } from "./step-transactions.ts"

export const codecSupport: CodecSupport = { of: payloadCodecs, store: codedStore }

export const flowRules: FlowRules = {
  traits: flowTraits,
  forkTraits,
  desk: (flow, registry, host, timers) => new LimitDesk(flow, registry, host, timers),
  debouncer: (worker) => new Debouncer(worker),
}

/** In the database of the store itself; all that a Durable Object has. */
export const ownTransactions: TransactionMaker = (runtime, writer, submit) => new StepTransactions(runtime, writer, submit)

const allTransactions: TransactionMaker = (runtime, writer, submit) =>
  runtime.clientTransactions ? new StepClientTransactions(runtime, runtime.clientTransactions, writer, submit) : ownTransactions(runtime, writer, submit)

/** What an engine can do whose size is of no concern. */
export const allFeatures: EngineFeatures = { codecs: codecSupport, flow: flowRules, transactions: allTransactions }
