import type { AnyWorkflow } from "./core/workflow.ts"
import { PerdureError } from "./core/errors.ts"
import type { Client } from "./engine/client.ts"
import type { EngineOptions } from "./engine/settings.ts"
import { ObjectClient } from "./hosts/cloudflare/object-client.ts"
import { InstanceObject } from "./hosts/cloudflare/instance-object.ts"
import type { ObjectNamespace } from "./hosts/cloudflare/platform.ts"
import { StubNetwork } from "./hosts/cloudflare/stub-network.ts"
import { workflowRunnerClass, type WorkflowRunnerClass } from "./hosts/cloudflare/workflow-runner.ts"
import type { Logger } from "./ports/host.ts"
import { EdgeStore } from "./stores/cloudflare/edge-store.ts"
import { ObjectSqlDriver } from "./stores/sqlite/object-sql-driver.ts"
import type { ObjectStorage } from "./stores/sqlite/object-storage.ts"
import { objectStore } from "./stores/sqlite/object-store.ts"
import { objectTableParts, SqliteObjectTables } from "./stores/sqlite/object-tables.ts"

export interface WorkflowRunnerOptions extends Omit<EngineOptions, "lease" | "sweep" | "execute" | "taskQueues" | "maxResidentInstances" | "maxResidentBytes"> {
  readonly workflows: readonly AnyWorkflow[]
  /** The name of the binding to this very class. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
  /** Default: warnings and errors to the console. */
  readonly log?: Logger
}

/** The one class of Durable Objects that runs all workflows; an object for each instance. */
export function createWorkflowRunner({ workflows, binding = "WORKFLOW_RUNNER", log = console, ...options }: WorkflowRunnerOptions): WorkflowRunnerClass {
  return workflowRunnerClass((state, env) => {
    const storage = state.storage as typeof state.storage & ObjectStorage
    const now = () => Date.now()
    const tables = new SqliteObjectTables(new ObjectSqlDriver(storage, objectTableParts), now)
    const network = new StubNetwork(() => namespaceOf(env, binding))
    return new InstanceObject({
      name: state.id.name,
      storage,
      tables,
      network,
      workflows,
      options,
      log,
      now,
      openStore: (own, onWritten) => ({
        name: "edge",
        open: async (context) => {
          const local = await objectStore(storage, tables.outlet).open(context)
          const none = () => Promise.reject(new PerdureError("STORE_FAILED", "there is no index of instances"))
          return new EdgeStore({ local, own, network, overview: { list: none, count: none }, onWritten })
        },
      }),
    })
  })
}

/** A client of the instances behind the binding. */
export function workflowClient(binding: ObjectNamespace): Client {
  const missing = () => {
    throw new PerdureError("STORE_FAILED", "there is no index of instances")
  }
  return new ObjectClient(binding, { list: missing, count: missing, changes: missing, schedules: undefined as never, limits: undefined as never })
}

function namespaceOf(env: unknown, binding: string): ObjectNamespace {
  const found = (env as Record<string, unknown>)[binding]
  if (typeof found === "object" && found !== null && "idFromName" in found) return found as ObjectNamespace
  throw new PerdureError("BAD_OPTION", `the Worker has no Durable Object binding "${binding}"; add it, or tell createWorkflowRunner the name it has`)
}

export type { ObjectNamespace } from "./hosts/cloudflare/platform.ts"
export type { EdgeStartOptions } from "./hosts/cloudflare/object-client.ts"
export type { DeliverRequest, InitializeRequest, WorkflowRunnerClass, WorkflowRunnerObject } from "./hosts/cloudflare/workflow-runner.ts"
