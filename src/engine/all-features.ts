import { Annotations } from "../core/execution/annotations.ts"
import { checkPriority } from "../core/workflow/flow-options.ts"
import { QueryUpdateHandlers } from "../core/execution/query-update-handlers.ts"
import { callerSupport } from "./instances/caller-transaction-scope.ts"
import { QueryUpdateResponder } from "./runner/query-update-responder.ts"
import { debouncedStart, Debouncer, refuseDebounce } from "./flow-control/debouncer.ts"
import { codedStore, payloadCodecs } from "./payload-codec-store.ts"
import type { ChildSupport, CodecSupport, EngineFeatures, FlowRules, HookMaker, QuestionSupport, TransactionMaker } from "./feature-set.ts"
import { flowTraits, forkTraits } from "./flow-control/flow-keys.ts"
import { EndingHooks, hasHooks } from "./runner/ending-hooks.ts"
import { keptChildResults } from "./children/kept-child-results.ts"
import { LimitDeclarations } from "./flow-control/limit-declarations.ts"
import { NestedSteps } from "./steps/nested-steps.ts"
import { ChildOperations } from "./children/child-operations.ts"
import { endingMessages } from "./children/ending-messages.ts"
import { holderOf, singletonExists } from "./flow-control/singletons.ts"
import { StepClientTransactions } from "./steps/step-client-transactions.ts"
import { StepSlots } from "./steps/step-slots.ts"
import { StepTransactions } from "./steps/step-transactions.ts"

export const codecSupport: CodecSupport = { of: payloadCodecs, store: codedStore }

export const flowRules: FlowRules = {
  traits: flowTraits,
  forkTraits,
  desk: (flow, registry, host, timers) => new LimitDeclarations(flow, registry, host, timers),
  debouncer: (worker) => new Debouncer(worker),
  debouncedStart,
  refuseDebounce,
  checkPriority,
  holderOf,
  singletonExists,
  stepSlots: (places, total) => new StepSlots(places, total),
}

export const childSupport: ChildSupport = {
  childOperations: (store, starter, controls) => new ChildOperations(store, starter, controls),
  endingMessages: endingMessages,
  keptChildResults: keptChildResults,
}

export const nestedSteps: NonNullable<EngineFeatures["nestedSteps"]> = (state, driver) => new NestedSteps(state, driver)

export const questionSupport: QuestionSupport = {
  questions: (source) => new QueryUpdateHandlers(source),
  answers: (...made) => new QueryUpdateResponder(...made),
}

export const annotations: NonNullable<EngineFeatures["annotations"]> = (source, limits) => new Annotations(source, limits)

export const hookCalls: HookMaker = (runtime, workflow, identity, state) =>
  hasHooks(workflow.options) || hasHooks(runtime.settings.hooks) ? new EndingHooks(runtime, workflow, identity, state) : undefined

/** In the database of the store itself; all that a Durable Object has. */
export const ownTransactions: TransactionMaker = (runtime, writer, submit) => new StepTransactions(runtime, writer, submit)

const allTransactions: TransactionMaker = (runtime, writer, submit) =>
  runtime.clientTransactions ? new StepClientTransactions(runtime, runtime.clientTransactions, writer, submit) : ownTransactions(runtime, writer, submit)

/** What an engine can do whose size is of no concern. */
export const allFeatures: EngineFeatures = {
  codecs: codecSupport,
  flow: flowRules,
  transactions: allTransactions,
  hooks: hookCalls,
  children: childSupport,
  nestedSteps,
  questions: questionSupport,
  annotations,
  callers: callerSupport,
}
