import type { TestEngine } from "../../src/testing/test-engine.ts"
import { afterEach, describe } from "vitest"
import { activityStories } from "../../src/testing/scenarios/activities/activity-stories.ts"
import { annotationStories } from "../../src/testing/scenarios/reading/annotation-stories.ts"
import { burstStories } from "../../src/testing/scenarios/events/burst-stories.ts"
import { cancelStories } from "../../src/testing/scenarios/control/cancel-stories.ts"
import { childBondStories } from "../../src/testing/scenarios/children/child-bond-stories.ts"
import { childRecoveryStories } from "../../src/testing/scenarios/children/child-recovery-stories.ts"
import { childStories } from "../../src/testing/scenarios/children/child-stories.ts"
import { classStories } from "../../src/testing/scenarios/steps/class-stories.ts"
import { codeQueryStories } from "../../src/testing/scenarios/events/code-query-stories.ts"
import { codecStories } from "../../src/testing/scenarios/steps/codec-stories.ts"
import { concurrencyStories } from "../../src/testing/scenarios/starts/concurrency-stories.ts"
import { conditionStories } from "../../src/testing/scenarios/steps/condition-stories.ts"
import { continueStories } from "../../src/testing/scenarios/steps/continue-stories.ts"
import { determinismStories } from "../../src/testing/scenarios/steps/determinism-stories.ts"
import { disagreementStories } from "../../src/testing/scenarios/steps/disagreement-stories.ts"
import { eventStories } from "../../src/testing/scenarios/events/event-stories.ts"
import { failureLogStories } from "../../src/testing/scenarios/steps/failure-log-stories.ts"
import { forkStories } from "../../src/testing/scenarios/control/fork-stories.ts"
import { handlerStories } from "../../src/testing/scenarios/events/handler-stories.ts"
import { hookStories } from "../../src/testing/scenarios/events/hook-stories.ts"
import { idleControlStories } from "../../src/testing/scenarios/control/idle-control-stories.ts"
import { keptChildStories } from "../../src/testing/scenarios/children/kept-child-stories.ts"
import { nestedStepStories } from "../../src/testing/scenarios/steps/nested-step-stories.ts"
import { pauseStories } from "../../src/testing/scenarios/control/pause-stories.ts"
import { queryStories } from "../../src/testing/scenarios/reading/query-stories.ts"
import { recoveryStories } from "../../src/testing/scenarios/starts/recovery-stories.ts"
import { restartStories } from "../../src/testing/scenarios/control/restart-stories.ts"
import { retryStories } from "../../src/testing/scenarios/steps/retry-stories.ts"
import { rollbackControlStories } from "../../src/testing/scenarios/steps/rollback-control-stories.ts"
import { rollbackStories } from "../../src/testing/scenarios/steps/rollback-stories.ts"
import type { OpenBed } from "../../src/testing/scenarios/scenario-bed.ts"
import { sensitiveStories } from "../../src/testing/scenarios/steps/sensitive-stories.ts"
import { sleepStories } from "../../src/testing/scenarios/steps/sleep-stories.ts"
import { startStories } from "../../src/testing/scenarios/starts/start-stories.ts"
import { stepContextStories } from "../../src/testing/scenarios/steps/step-context-stories.ts"
import { stepStories } from "../../src/testing/scenarios/steps/step-stories.ts"
import { terminateStories } from "../../src/testing/scenarios/control/terminate-stories.ts"
import { updateStories } from "../../src/testing/scenarios/events/update-stories.ts"
import { valueStories } from "../../src/testing/scenarios/steps/value-stories.ts"
import { versionStories } from "../../src/testing/scenarios/steps/version-stories.ts"
import { whyStories } from "../../src/testing/scenarios/reading/why-stories.ts"
import { startOnceStories } from "../../src/testing/scenarios/starts/start-once-stories.ts"
import { slotStories } from "../../src/testing/scenarios/starts/slot-stories.ts"
import { scheduleStories } from "../../src/testing/scenarios/schedules/schedule-stories.ts"
import { scheduleOverlapStories } from "../../src/testing/scenarios/schedules/schedule-overlap-stories.ts"
import { scheduleOnceStories } from "../../src/testing/scenarios/schedules/schedule-once-stories.ts"
import { scheduleControlStories } from "../../src/testing/scenarios/schedules/schedule-control-stories.ts"
import { queueStories } from "../../src/testing/scenarios/starts/queue-stories.ts"
import { paceStories } from "../../src/testing/scenarios/starts/pace-stories.ts"
import { limitControlStories } from "../../src/testing/scenarios/starts/limit-control-stories.ts"
import { ObjectBed } from "./object-bed.ts"
import { outside } from "./vitest-in-object.ts"

/** Scenarios of every test run. */
export const shortStories = [
  stepStories,
  stepContextStories,
  sleepStories,
  pauseStories,
  terminateStories,
  recoveryStories,
  childStories,
  childBondStories,
  classStories,
  idleControlStories,
  failureLogStories,
  activityStories,
]

/** Scenarios of the long form only. */
export const otherStories = [
  concurrencyStories,
  eventStories,
  burstStories,
  retryStories,
  nestedStepStories,
  cancelStories,
  restartStories,
  rollbackStories,
  rollbackControlStories,
  continueStories,
  versionStories,
  forkStories,
  disagreementStories,
  startStories,
  queryStories,
  whyStories,
  determinismStories,
  annotationStories,
  sensitiveStories,
  codecStories,
  hookStories,
  valueStories,
  childRecoveryStories,
  keptChildStories,
  handlerStories,
  conditionStories,
  codeQueryStories,
  updateStories,
]

/** Scenarios of limits and schedules, which are objects too. Scenarios of an engine's outage do not apply, because each object has an alarm. */
export const flowStories = [
  slotStories,
  paceStories,
  limitControlStories,
  startOnceStories,
  queueStories,
  scheduleStories,
  scheduleControlStories,
  scheduleOnceStories,
  scheduleOverlapStories,
]

/** The scenarios that do not apply to objects, by the reason. */
export const leftOut: Readonly<Record<string, readonly string[]>> = {
  "it makes hundreds of objects": [
    "many instances do not mix up",
    "are started and joined in some tens of transactions, and crashes in between lose none",
    "many sleepers wake each at its time and in order, over a crash, and none is kept in memory",
    "a large batch is started, and all of it completes",
    "a burst on a key never exceeds its limit, and drains without polling",
  ],
  "it looks into the one engine, or its store, that other stores have": [
    "slots outlive crashes and restarts of the engine, and none is lost by them",
    "a worker that serves the queue runs the instances that other workers leave",
    "that waits is not lost by a crash, nor when that instance ends while nobody is there",
    "keeps its limits beside, and there is one of all that are due at the same moment, also after a crash",
    "an event that was acknowledged before the timeout wins, though the worker had not heard of it",
    "those still unread when the instance ends are dropped without harm",
    "one that finds the instance at rest costs a single commit, and goes behind those that were acknowledged before",
    "a paused instance costs no memory and no work",
    "%s: each step is undone, none again once that is recorded",
    "gives its result to whoever waited since the first run, also over a crash at every write",
    "keeps events that nobody took, in order: those in the journal, then those in the inbox",
    "receives an event once that is sent again, with its id, to a later run",
    "a thousand times does not slow it down: only the last run is read, also where an event waits since the first",
    "deployed with a crash at every write of the old code, each instance comes to its end on one path or the other",
    "gives the same for the whole run, with a crash at every write, also where it is asked again and again in a loop",
    "a step runs",
    "a very long journal is read in passing",
    "a crash between acceptance and answer: it goes on, what is recorded does not repeat, and a caller elsewhere is answered",
    "are durable before the handler runs: one that was delivered is done, also when the process dies before it is read",
    "of a client in another process are answered, refused, and fail there",
    "a closed engine rejects waiting callers with ENGINE_CLOSED",
    "whatever write goes wrong, each event is handled once and in order",
    "whatever crashes, the code goes on once, in the same order",
    "see the state as it is committed: not what a turn that is being written has changed",
    "are answered in any process that has the code, and NO_WORKER in one that has not",
    "code that does not fit the journal gives no answer; one that takes its time does",
    "is heard of by the new run of a parent that was %s",
    "a restart, a restart from a step and a fork go on with what was noted until then",
    "the result of a step is the code's alone, and is the same after a crash",
    "what a step fails with is hidden while it is tried again, and when the workflow fails of it",
    "an outer step that fails of a sensitive one inside it hides that, too",
    "a workflow says it of its input, result, events and updates",
    "the mark is in the journal: a reader without the code does not show the value either",
    "a child's is hidden in its parent, and so is what its next runs begin with",
    "a schedule does not show the input of its instances",
    "an input that a schedule gets when its workflow has come to say so is not shown either",
    "what undoes a sensitive step, and what it fails with, is hidden as well",
    "what is wrong with the input of a child, of a next run, or with an event to a child, is hidden in the journal",
    "nothing of a value reaches the store as it is, and all goes on as without it, also after a crash",
    "after a change of keys, what the old one encoded is read, and what is new is encoded by the new one",
    "a client without the codec still lists and controls, sees the id of the codec, and gets an error where a value is needed",
    "a worker that lacks it, or whose key is another, stalls the instance, which goes on when it is resumed by one that has it",
    "one that cannot encode refuses starts and events; nothing is stored as it is",
    "whatever write goes wrong, each child is started once and each result arrives",
    "whatever write goes wrong, a parent's end reaches all of its children",
    "many parents and children need only a few resident instances",
    "a parent that waits is evicted without loss",
    "closing the engine while a child is being started loses neither",
    "clients in another process start parents, send to children, and get results",
  ],
  "a function cannot be sent to an object at all": [
    "an engine that closes before the attempt ends leaves the instance to be paused by the next",
    "checks the input by the schema of the workflow",
    "closing the engine is not a crash: attempts may finish, and what does not is begun again",
  ],
  "an engine's places are for its instances, and each instance has an engine of its own": [
    "goes first where a worker has room for few",
    "no more attempts run at once than it has; those of a higher priority go first, then the order of asking",
    "an attempt that times out, is cancelled, or whose instance is terminated frees its slot",
    "closing does not wait for queued attempts: they begin in the next process",
  ],
  "a runner serves every queue: an object has no worker that could leave some to others": [
    "an engine that names queues leaves the others alone, and why says so",
    "an engine that names queues leaves alone what sendOrStart and batches start in others",
    "an engine that names none, or what is no name, is refused",
  ],
  "of one millisecond, a list over shards goes by id": ["a child is in the queue of its parent, unless it, or its workflow, says otherwise"],
  "its time moves while a call that waits is on its way": [
    "result() gives up after its timeout, and the instance goes on",
    "several at once are done in the order in which they were delivered, each answered with its own",
  ],
}

export function tellStories(stories: readonly ((open: OpenBed) => void)[]): void {
  outside.isOn = true
  for (const [reason, names] of Object.entries(leftOut)) for (const name of names) outside.left.set(name, reason)
  describe("scenarios on objects of their own", () => {
    const beds: ObjectBed[] = []
    afterEach(async () => {
      for (const bed of beds.splice(0)) await bed.close()
    })
    for (const story of stories) {
      story(async (options) => {
        const bed = new ObjectBed(options)
        beds.push(bed)
        return bed as unknown as TestEngine
      })
    }
  })
}
