import { afterEach, describe } from "vitest"
import type { TestEngine } from "../test-engine.ts"
import { annotationStories } from "./annotation-stories.ts"
import { burstStories } from "./burst-stories.ts"
import { cancelStories } from "./cancel-stories.ts"
import { changeStories } from "./change-stories.ts"
import { childBondStories } from "./child-bond-stories.ts"
import { childRecoveryStories } from "./child-recovery-stories.ts"
import { childStories } from "./child-stories.ts"
import { classStories } from "./class-stories.ts"
import { codeQueryStories } from "./code-query-stories.ts"
import { codecStories } from "./codec-stories.ts"
import { concurrencyStories } from "./concurrency-stories.ts"
import { conditionStories } from "./condition-stories.ts"
import { continueStories } from "./continue-stories.ts"
import { declaredEventStories } from "./declared-event-stories.ts"
import { determinismStories } from "./determinism-stories.ts"
import { disagreementStories } from "./disagreement-stories.ts"
import { eventStories } from "./event-stories.ts"
import { floodStories } from "./flood-stories.ts"
import { failureLogStories } from "./failure-log-stories.ts"
import { followingStories } from "./following-stories.ts"
import { forkStories } from "./fork-stories.ts"
import { handlerStories } from "./handler-stories.ts"
import { hookStories } from "./hook-stories.ts"
import { idleControlStories } from "./idle-control-stories.ts"
import { keptChildStories } from "./kept-child-stories.ts"
import { nestedStepStories } from "./nested-step-stories.ts"
import { pauseStories } from "./pause-stories.ts"
import { queueStories } from "./queue-stories.ts"
import { queryStories } from "./query-stories.ts"
import { recoveryStories } from "./recovery-stories.ts"
import { residencyStories } from "./residency-stories.ts"
import { restartStories } from "./restart-stories.ts"
import { retryStories } from "./retry-stories.ts"
import { rollbackControlStories } from "./rollback-control-stories.ts"
import { rollbackStories } from "./rollback-stories.ts"
import type { OpenBed } from "./scenario-bed.ts"
import { scheduleControlStories } from "./schedule-control-stories.ts"
import { scheduleOnceStories } from "./schedule-once-stories.ts"
import { scheduleOverlapStories } from "./schedule-overlap-stories.ts"
import { scheduleOutageStories } from "./schedule-outage-stories.ts"
import { scheduleStories } from "./schedule-stories.ts"
import { sensitiveStories } from "./sensitive-stories.ts"
import { sleepStories } from "./sleep-stories.ts"
import { limitControlStories } from "./limit-control-stories.ts"
import { paceStories } from "./pace-stories.ts"
import { startOnceStories } from "./start-once-stories.ts"
import { slotStories } from "./slot-stories.ts"
import { startStories } from "./start-stories.ts"
import { stepContextStories } from "./step-context-stories.ts"
import { stepStories } from "./step-stories.ts"
import { terminateStories } from "./terminate-stories.ts"
import { unownedControlStories } from "./unowned-control-stories.ts"
import { updateStories } from "./update-stories.ts"
import { valueStories } from "./value-stories.ts"
import { unknownWorkflowStories } from "./unknown-workflow-stories.ts"
import { versionStories } from "./version-stories.ts"
import { whyHolderStories } from "./why-holder-stories.ts"
import { whyStories } from "./why-stories.ts"

const stories: readonly ((open: OpenBed) => void)[] = [
  stepStories,
  concurrencyStories,
  stepContextStories,
  eventStories,
  declaredEventStories,
  sleepStories,
  retryStories,
  nestedStepStories,
  pauseStories,
  cancelStories,
  terminateStories,
  restartStories,
  rollbackStories,
  rollbackControlStories,
  continueStories,
  versionStories,
  forkStories,
  recoveryStories,
  disagreementStories,
  startStories,
  slotStories,
  paceStories,
  startOnceStories,
  limitControlStories,
  queryStories,
  whyStories,
  whyHolderStories,
  determinismStories,
  annotationStories,
  queueStories,
  sensitiveStories,
  codecStories,
  hookStories,
  residencyStories,
  valueStories,
  childStories,
  childBondStories,
  childRecoveryStories,
  keptChildStories,
  handlerStories,
  conditionStories,
  codeQueryStories,
  updateStories,
  scheduleStories,
  scheduleOverlapStories,
  scheduleOnceStories,
  scheduleOutageStories,
  scheduleControlStories,
  changeStories,
  followingStories,
  classStories,
  floodStories,
  unknownWorkflowStories,
  unownedControlStories,
  idleControlStories,
  failureLogStories,
  burstStories,
]

/** One of so many parts, of about the same length: files that run side by side. */
export interface Part {
  /** From 1 on. */
  readonly number: number
  readonly of: number
}

/**
 * What a user may rely on, whatever the store and the host: the sentences of "Semantics", each tried out. Free of Node
 * imports and in virtual time, so that every pair of store and host runs all of it.
 */
export function describeScenarios(name: string, provide: OpenBed, part: Part = { number: 1, of: 1 }): void {
  describe(`scenarios on ${name}`, () => {
    const engines: TestEngine[] = []
    const open: OpenBed = async (options) => {
      const engine = await provide(options)
      engines.push(engine)
      return engine
    }
    afterEach(async () => {
      for (const engine of engines.splice(0)) await engine.close()
    })

    stories.forEach((tell, index) => {
      if (index % part.of === part.number - 1) tell(open)
    })
  })
}
