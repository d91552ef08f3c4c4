// The public surface, by hand: a name that appears or disappears here is a change for users, and belongs into CHANGELOG.md.

import { existsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { readSourceFiles } from "../tools/house-rules/source-file.ts"

interface Surface {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

const surfaces: Record<string, Surface> = {
  "src/index.ts": {
    values: [
      "BaseWorkflow",
      "CancelledError",
      "EventTimeoutError",
      "NonRetryableError",
      "Perdure",
      "PerdureError",
      "ResultTimeoutError",
      "StepFailedError",
      "TerminatedError",
      "eventSchema",
      "isHidden",
      "workflow",
    ],
    types: [
      "AnyWorkflow",
      "BackfillOptions",
      "BackfilledFiring",
      "BatchItem",
      "BatchResult",
      "Change",
      "ChangeData",
      "ChangeError",
      "ChangeIterator",
      "ChangeType",
      "Changes",
      "Child",
      "ChildOptions",
      "ClassStepOptions",
      "Client",
      "ConcurrencyLimit",
      "ConcurrencyReport",
      "ConditionOptions",
      "Context",
      "ControlResult",
      "CreateOptions",
      "Debounce",
      "Duration",
      "Engine",
      "EngineOptions",
      "EntryType",
      "ErrorCode",
      "EventMap",
      "FlowFunction",
      "FlowOptions",
      "ForkOptions",
      "Handle",
      "Hidden",
      "HistoryEntry",
      "HistoryOptions",
      "HistoryPage",
      "Hook",
      "HookEvent",
      "Hooks",
      "InstanceDescription",
      "InstanceInfo",
      "InstanceSummary",
      "InstanceTags",
      "InterceptedStep",
      "LimitControl",
      "LimitSettings",
      "Limits",
      "ListFilter",
      "ListPage",
      "Logger",
      "Overlap",
      "PayloadCodec",
      "PerdureOptions",
      "Phase",
      "RateLimit",
      "RateReport",
      "RestartOptions",
      "ResultOptions",
      "RetryOptions",
      "Rollback",
      "RollbackFunction",
      "ScheduleClient",
      "ScheduleControlResult",
      "ScheduleDescription",
      "ScheduleFilter",
      "ScheduleHandle",
      "ScheduleOptions",
      "SchedulePage",
      "ScheduleSummary",
      "ScheduleTimes",
      "ScheduleUpdate",
      "ScheduledInstance",
      "SendOptions",
      "SensitiveData",
      "SendOrStartOptions",
      "Singleton",
      "SleepOptions",
      "Sql",
      "SqlResult",
      "SqlRow",
      "SqlValue",
      "StandardSchemaV1",
      "StartOptions",
      "Status",
      "Step",
      "StepContext",
      "StepDefaults",
      "StepFunction",
      "StepInfo",
      "StepInterceptor",
      "StepOptions",
      "StepRetries",
      "StoreProvider",
      "TerminateOptions",
      "UnfiredTimes",
      "TickOptions",
      "TickResult",
      "TransactionClient",
      "TransactionContext",
      "UpdateOptions",
      "WaitOptions",
      "Why",
      "Workflow",
      "WorkflowClass",
      "WorkflowInfo",
      "WorkflowLimitReport",
      "WorkflowLog",
      "WorkflowSettings",
      "WorkflowSource",
    ],
  },
  "src/client.ts": {
    values: ["CancelledError", "EventTimeoutError", "NonRetryableError", "PerdureError", "ResultTimeoutError", "StepFailedError", "TerminatedError", "connect"],
    types: [
      "Change",
      "ChangeData",
      "ChangeError",
      "ChangeIterator",
      "ChangeType",
      "Changes",
      "Client",
      "ConnectOptions",
      "ErrorCode",
      "Handle",
      "RemoteClient",
    ],
  },
  "src/http.ts": {
    values: ["createHttpApp", "serve"],
    types: ["Action", "Authorize", "AuthorizeCall", "HttpAppOptions", "HttpLog", "HttpServer", "ServeOptions"],
  },
  "src/postgres.ts": { values: ["postgres"], types: ["PostgresClient", "PostgresOptions", "PostgresPool", "PostgresQuery", "PostgresResult"] },
  "src/cloudflare.ts": {
    values: ["BaseWorkflow", "createWorkerApp", "createWorkflowRunner", "eventSchema", "workflowClient"],
    types: [
      "ClassStepOptions",
      "CreateOptions",
      "DeliverRequest",
      "EdgeStartOptions",
      "InitializeRequest",
      "ObjectNamespace",
      "Step",
      "StepDefaults",
      "StepFunction",
      "StepRetries",
      "WorkerApp",
      "WorkerAppOptions",
      "WorkerHttpOptions",
      "WorkflowClass",
      "WorkflowRunnerClass",
      "WorkflowRunnerObject",
      "WorkflowRunnerOptions",
    ],
  },
  "src/sqlite.ts": { values: ["sqlite"], types: ["SqliteOptions"] },
  "src/testing.ts": {
    values: ["SimulationError", "checkJournals", "createTestEngine", "expectReplay", "memory", "simulate"],
    types: [
      "CheckOptions",
      "CheckProblem",
      "CheckProblemKind",
      "CheckReport",
      "JournalExport",
      "JournalSource",
      "Mock",
      "Replayed",
      "Seed",
      "SimulateOptions",
      "SimulatedAction",
      "SimulatedEvent",
      "SimulatedFaults",
      "SimulatedWorld",
      "SimulationReport",
      "SimulationSetup",
      "TestEngine",
      "TestEngineOptions",
    ],
  },
}

const entries = readSourceFiles("src").filter(({ path, isTest }) => !isTest && path.split("/").length === 2)

describe("the public surface", () => {
  it("has these entries", () => {
    expect(Object.keys(surfaces)).toEqual(expect.arrayContaining(entries.map((entry) => entry.path)))
  })

  describe.each(Object.entries(surfaces))("%s", (path, surface) => {
    const url = new URL(`../${path}`, import.meta.url)

    it("exports these values", async () => {
      const values = existsSync(url) ? Object.keys((await import(url.href)) as object) : []
      expect(values.sort()).toEqual(surface.values.toSorted())
    })

    it("exports these types", () => {
      const types = entries.find((entry) => entry.path === path)?.exports.filter(({ isType }) => isType) ?? []
      expect(types.map(({ name }) => name).sort()).toEqual(surface.types.toSorted())
    })
  })
})
