// The declaration file must name this library: the compile target of a user may lack AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import type { Client } from "../../client-api/client-api.ts"
import { setCurrentProgram } from "../../dialects/cloudflare-workflows/modules/current-program.ts"
import { executionContext } from "../../dialects/cloudflare-workflows/execution-context.ts"
import {
  type DialectOptions,
  program,
  syncSchedules,
  type WorkflowBindings,
  type WorkflowSources,
} from "../../dialects/cloudflare-workflows/workflow-program.ts"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { PublicTestEngine } from "../public-test-engine.ts"
import { createTestEngine, type TestEngineOptions } from "../test-engine.ts"
import { BindingSession, setSession } from "./binding-session.ts"

/** Options of `createWorkflowsTestEngine`: those of a test engine, with classes in place of definitions. */
export interface WorkflowsTestEngineOptions<W extends WorkflowSources, Env extends object>
  extends Omit<TestEngineOptions, "workflows" | "retry" | "onEnqueued">, DialectOptions {
  /** A class for each binding, or a class with the options that wrangler.jsonc has for it. */
  readonly workflows: W
  /** What the classes get as `env`, beside the bindings. Default: nothing. */
  readonly env?: Env
}

/** What `createWorkflowsTestEngine` gives. */
export interface WorkflowsTestEngine<W extends WorkflowSources, Env extends object> extends AsyncDisposable {
  /** The given `env` and the bindings: what the classes get. */
  readonly env: Env & WorkflowBindings<W>
  /** The test engine: it moves time, crashes, and replaces steps. Its ids are `<workflow>:<id>`. */
  readonly engine: PublicTestEngine
  /** Closes the engine. */
  close(): Promise<void>
}

/**
 * Opens a test engine with the classes of a program for Cloudflare Workflows, and gives its bindings. Time is virtual: a sleep of a month passes at once.
 * `introspectWorkflow` and `introspectWorkflowInstance` take the bindings. Throws what `createTestEngine` throws.
 *
 * @example
 * await using test = await createWorkflowsTestEngine({ workflows: { CHECKOUT: Checkout } })
 * const instance = await test.env.CHECKOUT.create({ id: "c-1" })
 * await test.engine.skip("30d")
 * assert.equal((await instance.status()).status, "complete")
 */
export async function createWorkflowsTestEngine<const W extends WorkflowSources, Env extends object = object>(
  options: WorkflowsTestEngineOptions<W, Env>,
): Promise<WorkflowsTestEngine<W, Env>> {
  const { workflows: sources, env: given, retryDelay, ...rest } = options
  // Instances that the engine goes on with may use their bindings while it is being opened.
  const opening: { engine?: ReturnType<typeof createTestEngine> } = {}
  const client = async () => (await opening.engine) as unknown as Client
  const dialect = retryDelay === undefined ? {} : { retryDelay }
  const { definitions, bindings, exports, workflows } = program(sources, dialect, client, () => ({
    env,
    ctx: executionContext(exports, rest.log ?? silentLogger),
    workflows,
  }))
  const env = { ...given, ...bindings } as unknown as Env & WorkflowBindings<W>
  setCurrentProgram({ env, exports })
  const sessions = new Map<string, BindingSession>()
  opening.engine = createTestEngine({ ...rest, workflows: definitions, onEnqueued: (instance) => sessions.get(instance.workflow)?.onEnqueued(instance) })
  const engine = await opening.engine
  for (const [name, binding] of Object.entries(workflows)) {
    const session = new BindingSession(engine, name)
    sessions.set(name, session)
    setSession(binding, session)
  }
  await syncSchedules(engine as unknown as Client, sources)
  return { env, engine, close: () => engine.close(), [Symbol.asyncDispose]: () => engine.close() }
}
