// The examples in JSDoc compile, together with the declarations that their reader has.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { Documentation } from "../tools/house-rules/documentation.ts"
import { readSourceFiles } from "../tools/house-rules/source-file.ts"

const root = fileURLToPath(new URL("../", import.meta.url))
const entryNames = ["activities", "client", "cloudflare", "cloudflare-workflows", "cloudflare-workflows-vite", "http", "postgres", "sqlite", "testing"]

/** What an example may use without declaring it, because it is read beside code that has it. */
const names = `
declare const client: import("perdure").Client
declare const engine: import("perdure").Engine
declare const handle: import("perdure").Handle<string, { payment: { amount: number } }>
declare const ctx: import("perdure").Context<{ approval: { by: string }; vote: string }>
declare const env: { readonly WORKFLOW_RUNNER: import("perdure/cloudflare").ObjectNamespace; readonly CHECKOUT: import("perdure/cloudflare-workflows").WorkflowBinding }
declare class Checkout { constructor(ctx: unknown, env: unknown); run(event: { readonly payload: { cart: string } }, step: unknown): Promise<unknown> }
declare const processOrder: import("perdure").Workflow<Order, string, { payment: { amount: number } }>
declare const reserveInventory: import("perdure").Activity<string[], string>
declare const resize: import("perdure").Activity<string[], number>
declare function resizeImage(image: string | undefined): Promise<void>
interface Order { readonly id: string; readonly items: string[] }
declare const orders: readonly Order[]
declare const order: import("perdure").Workflow<{ item: string }, string>
declare const parcel: import("perdure").Workflow<string, string, { address: string }>
declare const basket: import("perdure").Workflow<{ owner: string }, string, { add: string }>
declare const reminder: import("perdure").Workflow<{ task: string }, string>
declare const input: { item: string }
declare const item: string
declare const items: string[]
declare const card: { readonly isExpired: boolean }
declare function charge(paid: typeof card): Promise<string>
declare function reserve(wanted: string): Promise<string>
declare function createInvoice(idempotencyKey: string, signal: AbortSignal): Promise<{ readonly number: string }>
`

const imports = `
import assert from "node:assert/strict"
import { BaseWorkflow, type Context, defineActivity, NonRetryableError, Perdure, PerdureError, type Step, workflow } from "perdure"
import { connect, runActivities } from "perdure/client"
import { createWorkflowRunner, workflowClient } from "perdure/cloudflare"
import { cloudflareBindings, cloudflareWorkflows, openWorkflows, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "perdure/cloudflare-workflows"
import { cloudflareModules } from "perdure/cloudflare-workflows-vite"
import { createHttpApp, serve } from "perdure/http"
import { postgres } from "perdure/postgres"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, createWorkflowsTestEngine, introspectWorkflow, introspectWorkflowInstance } from "perdure/testing"
`

/** Examples of `perdure/activities` mean its own `workflow`, `ctx` and `client`. */
const importsOfActivities = `
import { defineActivity, workflow, WorkflowClient, type WorkflowContext, WorkflowWorker } from "perdure/activities"
import { sqlite } from "perdure/sqlite"
declare const ctx: WorkflowContext
`

/** The code after `@example` in a comment, without the asterisks. */
function exampleIn(comment: string): string | undefined {
  const lines = comment.split("\n").map((line) => line.replace(/^\s*\* ?/, ""))
  const from = lines.indexOf("@example")
  return from === -1 ? undefined : lines.slice(from + 1, -1).join("\n")
}

it("every example in JSDoc compiles", async () => {
  const files = readSourceFiles("src").filter(({ isTest }) => !isTest)
  const documentation = new Documentation(files)
  const entries = files.filter(({ path }) => path.split("/").length === 2)
  const comments = documentation.comments(entries.filter(({ path }) => !path.startsWith("src/activities")))
  const ofActivities = [...documentation.comments(entries.filter(({ path }) => path === "src/activities.ts"))]
    .filter(([name]) => name === "workflow" || !comments.has(name))
    .map(([name, comment]) => [`activities.${name}`, comment] as const)
  const examples = [...comments, ...ofActivities]
    .flatMap(([name, comment]) => [[name, exampleIn(comment)] as const])
    .filter(([, example]) => example !== undefined)
  expect(examples.length).toBeGreaterThan(25)

  const folder = mkdtempSync(join(tmpdir(), "perdure-examples-"))
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
    writeFileSync(join(folder, "names.d.ts"), names)
    for (const [name, example] of examples) {
      const isOfActivities = name.startsWith("activities.")
      const client = isOfActivities && example?.includes("new WorkflowClient(") === false ? `declare const client: WorkflowClient\n` : ""
      writeFileSync(join(folder, `${name}.ts`), `${isOfActivities ? importsOfActivities : imports}\n${client}${example}\nexport {}\n`)
    }
    const paths = Object.fromEntries([
      ["perdure", [join(root, "src/index.ts")]],
      ...entryNames.map((name) => [`perdure/${name}`, [join(root, `src/${name}.ts`)]]),
    ])
    const compilerOptions = { noEmit: true, types: ["node"], noUnusedLocals: false, lib: ["ES2023", "ESNext.Disposable"], paths }
    const include = ["*.ts", join(root, "src/cloudflare/platform/*.d.ts")]
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, include }))
    const tsc = promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "."], { cwd: folder })
    expect(
      await tsc.then(
        ({ stdout }) => stdout,
        ({ stdout }: { readonly stdout: string }) => stdout,
      ),
    ).toBe("")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 60_000)
