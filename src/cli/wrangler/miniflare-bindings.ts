import { join } from "node:path"
import { CommandError, exitCodes } from "../exit-code.ts"
import { isFromMiniflare } from "./binding-kinds.ts"
import { bundleForWorkerd } from "./bundled-worker.ts"
import { importOf } from "./project-packages.ts"
import { readSecretVars } from "./secret-vars.ts"
import type { Binding, WorkerSettings } from "./worker-settings.ts"

/** The part of the package miniflare that is used here. */
interface MiniflarePackage {
  readonly Miniflare: new (options: unknown) => Miniflare
  /** Version 5 has other options than version 4, and converts those. */
  readonly convertV4MiniflareOptions?: (options: unknown) => unknown
  readonly Log: new (level: number) => unknown
  readonly LogLevel: { readonly ERROR: number }
}

interface Miniflare {
  readonly ready: Promise<unknown>
  getBindings(): Promise<Readonly<Record<string, unknown>>>
  dispose(): Promise<void>
}

/** Bindings that miniflare supplies. */
export interface MiniflareBindings {
  readonly supplied: Readonly<Record<string, unknown>>
  /** Why a binding of a kind that miniflare has is not supplied, by its name. */
  readonly missing: ReadonlyMap<string, string>
  close(): Promise<void>
}

/** Where `wrangler dev` keeps the same data. */
const stateFolder = join(".wrangler", "state", "v3")
/** A Worker that is only there for its bindings. */
const emptyWorker = "export default { fetch: () => new Response(null, { status: 404 }) }"

/**
 * Starts miniflare if the Worker has bindings for it and the project has the package. The classes of Durable Objects run in miniflare as well, so esbuild bundles
 * the Worker for them.
 */
export async function openMiniflare(settings: WorkerSettings): Promise<MiniflareBindings> {
  const wanted = settings.bindings.filter(isFromMiniflare)
  const missing = new Map<string, string>()
  const none = { supplied: {}, missing, close: async () => undefined }
  if (wanted.length === 0) return none
  const found = await importOf<MiniflarePackage>(settings.file.folder, "miniflare")
  if (found === undefined) {
    for (const { name, kind } of wanted)
      missing.set(name, `env.${name} (${kind.label}) comes from miniflare, and miniflare is not installed here: npm install --save-dev miniflare`)
    return none
  }
  const objects = wanted.filter(({ kind }) => kind.key === "durable_objects.bindings")
  const own = objects.filter(({ options }) => options["script_name"] === undefined || options["script_name"] === settings.name)
  const script = own.length === 0 ? undefined : await bundleForWorkerd(settings)
  for (const { name, options } of objects) {
    if (typeof options["script_name"] === "string" && options["script_name"] !== settings.name)
      missing.set(name, `env.${name} is a Durable Object of another Worker, "${options["script_name"]}"; run the code that needs it with wrangler dev`)
    else if (script === undefined)
      missing.set(
        name,
        `env.${name} (Durable Object) needs esbuild beside miniflare, to bundle its class, and esbuild is not installed here: npm install --save-dev esbuild`,
      )
  }
  const miniflare = await started(
    found,
    settings,
    script,
    wanted.filter(({ name }) => !missing.has(name)),
  )
  const bindings = await miniflare.getBindings()
  const supplied = Object.fromEntries(wanted.flatMap(({ name }) => (name in bindings && !missing.has(name) ? [[name, bindings[name]] as const] : [])))
  return { supplied, missing, close: () => miniflare.dispose() }
}

async function started(
  { Miniflare, convertV4MiniflareOptions: convert, Log, LogLevel }: MiniflarePackage,
  settings: WorkerSettings,
  script: string | undefined,
  bindings: readonly Binding[],
): Promise<Miniflare> {
  const { file, name, compatibilityDate, compatibilityFlags } = settings
  const folder = join(file.folder, stateFolder)
  const options = {
    name,
    host: "127.0.0.1",
    modules: [{ type: "ESModule", path: "worker.mjs", contents: script ?? emptyWorker }],
    compatibilityDate: compatibilityDate ?? "2026-01-01",
    compatibilityFlags,
    bindings: { ...settings.vars, ...readSecretVars(file) },
    kvNamespaces: idsOf(bindings, "kv_namespaces", "preview_id", "id"),
    d1Databases: idsOf(bindings, "d1_databases", "preview_database_id", "database_id"),
    r2Buckets: idsOf(bindings, "r2_buckets", "preview_bucket_name", "bucket_name"),
    durableObjects: objectsOf(bindings, settings),
    // Otherwise miniflare asks Cloudflare where on earth this machine is.
    cf: false,
    log: new Log(LogLevel.ERROR),
  }
  let miniflare: Miniflare | undefined
  try {
    miniflare = new Miniflare(convert ? convert({ ...options, resourcePersistencePath: folder }) : { ...options, defaultPersistRoot: folder })
    await miniflare.ready
    return miniflare
  } catch (error) {
    await miniflare?.dispose().catch(() => undefined)
    const text = error instanceof Error ? error.message : String(error)
    throw new CommandError("MINIFLARE_FAILED", exitCodes.failed, `miniflare, which has the bindings of ${file.shown}, does not start: ${text}`, {
      cause: error,
    })
  }
}

function idsOf(bindings: readonly Binding[], key: string, ...idKeys: readonly string[]): Record<string, unknown> {
  const ofKind = bindings.filter(({ kind }) => kind.key === key)
  return Object.fromEntries(ofKind.map(({ name, options }) => [name, idKeys.map((idKey) => options[idKey]).find((id) => id !== undefined) ?? name]))
}

function objectsOf(bindings: readonly Binding[], { file }: WorkerSettings): Record<string, unknown> {
  const onSqlite = new Set<unknown>(
    ((file.inherited("migrations") ?? []) as readonly Record<string, unknown>[]).flatMap((one) => one["new_sqlite_classes"] ?? []),
  )
  for (const [name, one] of Object.entries(Object(file.inherited("exports")) as Record<string, Record<string, unknown>>))
    if (one["storage"] === "sqlite") onSqlite.add(name)
  const ofKind = bindings.filter(({ kind }) => kind.key === "durable_objects.bindings")
  return Object.fromEntries(ofKind.map(({ name, options }) => [name, { className: options["class_name"], useSQLite: onSqlite.has(options["class_name"]) }]))
}
