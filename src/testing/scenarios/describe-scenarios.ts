import { afterEach, describe } from "vitest"
import type { TestEngine } from "../test-engine.ts"
import { activityStories } from "./activities/activity-stories.ts"
import { taskStories } from "./activities/task-stories.ts"
import { taskWhyStories } from "./activities/task-why-stories.ts"
import { annotationStories } from "./reading/annotation-stories.ts"
import { burstStories } from "./events/burst-stories.ts"
import { cancelStories } from "./control/cancel-stories.ts"
import { changeStories } from "./reading/change-stories.ts"
import { childBondStories } from "./children/child-bond-stories.ts"
import { childRecoveryStories } from "./children/child-recovery-stories.ts"
import { childStories } from "./children/child-stories.ts"
import { classStories } from "./steps/class-stories.ts"
import { codeQueryStories } from "./events/code-query-stories.ts"
import { codecStories } from "./steps/codec-stories.ts"
import { concurrencyStories } from "./starts/concurrency-stories.ts"
import { conditionStories } from "./steps/condition-stories.ts"
import { continueStories } from "./steps/continue-stories.ts"
import { declaredEventStories } from "./events/declared-event-stories.ts"
import { determinismStories } from "./steps/determinism-stories.ts"
import { disagreementStories } from "./steps/disagreement-stories.ts"
import { eventStories } from "./events/event-stories.ts"
import { floodStories } from "./events/flood-stories.ts"
import { failureLogStories } from "./steps/failure-log-stories.ts"
import { followingStories } from "./reading/following-stories.ts"
import { forkStories } from "./control/fork-stories.ts"
import { handlerStories } from "./events/handler-stories.ts"
import { hookStories } from "./events/hook-stories.ts"
import { idleControlStories } from "./control/idle-control-stories.ts"
import { keptChildStories } from "./children/kept-child-stories.ts"
import { nestedStepStories } from "./steps/nested-step-stories.ts"
import { pauseStories } from "./control/pause-stories.ts"
import { queueStories } from "./starts/queue-stories.ts"
import { queryStories } from "./reading/query-stories.ts"
import { recoveryStories } from "./starts/recovery-stories.ts"
import { residencyStories } from "./starts/residency-stories.ts"
import { restartStories } from "./control/restart-stories.ts"
import { retryStories } from "./steps/retry-stories.ts"
import { rollbackControlStories } from "./steps/rollback-control-stories.ts"
import { rollbackPolicyStories } from "./steps/rollback-policy-stories.ts"
import { rollbackStories } from "./steps/rollback-stories.ts"
import type { OpenBed } from "./scenario-bed.ts"
import { scheduleControlStories } from "./schedules/schedule-control-stories.ts"
import { scheduleOnceStories } from "./schedules/schedule-once-stories.ts"
import { scheduleOverlapStories } from "./schedules/schedule-overlap-stories.ts"
import { scheduleOutageStories } from "./schedules/schedule-outage-stories.ts"
import { scheduleStories } from "./schedules/schedule-stories.ts"
import { sensitiveStories } from "./steps/sensitive-stories.ts"
import { sleepStories } from "./steps/sleep-stories.ts"
import { limitControlStories } from "./starts/limit-control-stories.ts"
import { paceStories } from "./starts/pace-stories.ts"
import { startOnceStories } from "./starts/start-once-stories.ts"
import { slotStories } from "./starts/slot-stories.ts"
import { startStories } from "./starts/start-stories.ts"
import { stepContextStories } from "./steps/step-context-stories.ts"
import { stepStories } from "./steps/step-stories.ts"
import { terminateStories } from "./control/terminate-stories.ts"
import { unownedControlStories } from "./control/unowned-control-stories.ts"
import { updateStories } from "./events/update-stories.ts"
import { valueStories } from "./steps/value-stories.ts"
import { unknownWorkflowStories } from "./starts/unknown-workflow-stories.ts"
import { versionStories } from "./steps/version-stories.ts"
import { whyHolderStories } from "./reading/why-holder-stories.ts"
import { whyStories } from "./reading/why-stories.ts"

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
  rollbackPolicyStories,
  activityStories,
  taskStories,
  taskWhyStories,
]

/** One part of the suite. All parts take about the same time, so that files can run in parallel. */
export interface Part {
  /** Counted from 1. */
  readonly number: number
  readonly of: number
}

/**
 * The semantics that a user may rely on, on every store and host. The scenarios import nothing of Node and use virtual time, so that every pair
 * of store and host runs all of them.
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
