import { readFileSync } from "node:fs"
import * as nodeModule from "node:module"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { importOf } from "./project-packages.ts"

/** The part of esbuild that compiles one module. */
interface Compiler {
  transformSync(source: string, options: Readonly<Record<string, unknown>>): { readonly code: string }
}

interface Loaded {
  readonly format: string
  readonly source: string
  readonly shortCircuit: true
}

interface LoadContext {
  readonly conditions?: readonly string[]
  readonly importAttributes?: Readonly<Record<string, string>>
}

interface Hooks {
  resolve(specifier: string, context: { readonly parentURL?: string }, next: (specifier: string, context: unknown) => unknown): unknown
  load(url: string, context: LoadContext, next: (url: string, context: unknown) => unknown): unknown
}

const endings = [".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".json", "/index.ts", "/index.tsx", "/index.js", "/index.mjs"]
/** TypeScript names the file that it emits, and there is none. */
const sources: ReadonlyMap<string, readonly string[]> = new Map([
  [".js", [".ts", ".tsx"]],
  [".mjs", [".mts"]],
  [".jsx", [".tsx"]],
])
const compiled = new Set([".ts", ".tsx", ".mts", ".jsx"])
const texts = new Set([".txt", ".html", ".sql"])

/**
 * Lets Node load what wrangler's bundler accepts, in the files of the project: imports without an extension, and imports of JSON and text. If the project has
 * esbuild, as every project with wrangler has, esbuild also compiles its TypeScript: Node itself only strips types, so it fails at an enum, or at an import of a
 * type without the word `type`. Versions of Node without synchronous hooks load what Node loads. Resolves to whether esbuild compiles.
 */
export async function registerBundlerHooks(folder: string): Promise<boolean> {
  const { registerHooks } = nodeModule as unknown as { readonly registerHooks?: (hooks: Hooks) => void }
  if (registerHooks === undefined) return false
  const compiler = await importOf<Compiler>(folder, "esbuild")
  if (compiler) process.setSourceMapsEnabled(true)
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        if (!/^\.\.?\//.test(specifier) || !isOfProject(context.parentURL)) throw error
        return firstThatResolves(alternatives(specifier), (candidate) => next(candidate, context), error)
      }
    },
    load: (url, context, next) => (isOfProject(url) && isPlainImport(context) ? loaded(url, compiler) : undefined) ?? next(url, context),
  })
  return compiler !== undefined
}

function isOfProject(url: string | undefined): boolean {
  return url?.startsWith("file:") === true && !url.includes("/node_modules/")
}

/** Node itself loads what `require` asks for, and JSON with its attribute. */
function isPlainImport({ conditions = [], importAttributes = {} }: LoadContext): boolean {
  return !conditions.includes("require") && Object.keys(importAttributes).length === 0
}

function alternatives(specifier: string): readonly string[] {
  const ending = extname(specifier)
  const bare = specifier.slice(0, specifier.length - ending.length)
  return [...(sources.get(ending) ?? []).map((source) => bare + source), ...endings.map((one) => specifier.replace(/\/$/, "") + one)]
}

function firstThatResolves(candidates: readonly string[], resolve: (candidate: string) => unknown, error: unknown): unknown {
  for (const candidate of candidates) {
    try {
      return resolve(candidate)
    } catch {
      // The next one may exist.
    }
  }
  throw error
}

function loaded(url: string, compiler: Compiler | undefined): Loaded | undefined {
  const path = fileURLToPath(url.replace(/[?#].*$/, ""))
  const ending = extname(path)
  const module = (source: string): Loaded => ({ format: "module", source, shortCircuit: true })
  if (ending === ".json") return module(`export default ${readFileSync(path, "utf8")}`)
  if (texts.has(ending)) return module(`export default ${JSON.stringify(readFileSync(path, "utf8"))}`)
  if (!compiler || !compiled.has(ending)) return undefined
  const options = { loader: ending.slice(1).replace("mts", "ts"), format: "esm", target: `node${process.versions.node}`, sourcefile: path, sourcemap: "inline" }
  return module(compiler.transformSync(readFileSync(path, "utf8"), { ...options, jsx: "automatic" }).code)
}
