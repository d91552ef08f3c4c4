// A TypeScript file for the house rules: its path, its length, its imports and exports, and its syntax tree.

import { readdirSync, readFileSync } from "node:fs"
import { posix, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync } from "vite"

export interface Node {
  readonly type: string
  readonly start: number
  readonly [field: string]: unknown
}

export interface Import {
  /** As written. */
  readonly specifier: string
  /** The path of the imported file from the root of the repository; undefined for a package. */
  readonly file: string | undefined
}

export interface Export {
  readonly name: string
  readonly isType: boolean
}

export interface SourceFile {
  /** The path from the root of the repository, with slashes. */
  readonly path: string
  readonly text: string
  readonly lines: number
  readonly isTest: boolean
  readonly body: readonly Node[]
  readonly imports: readonly Import[]
  /** `*` stands for `export *`, `default` for a default export. */
  readonly exports: readonly Export[]
}

const root = new URL("../../", import.meta.url)

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
}

/** The node and everything below it. */
export function* walk(node: Node): Generator<Node> {
  yield node
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* walk(child)
  }
}

/** `path:line`, as editors and terminals link it. */
export function placeOf(file: SourceFile, node: Node): string {
  return `${file.path}:${file.text.slice(0, node.start).split("\n").length}`
}

function specifierOf(node: Node): string | undefined {
  const { type, source } = node
  const importing =
    type === "ImportDeclaration" ||
    type === "ExportNamedDeclaration" ||
    type === "ExportAllDeclaration" ||
    type === "ImportExpression" ||
    type === "TSImportType"
  return importing && isNode(source) && typeof source["value"] === "string" ? source["value"] : undefined
}

/** Parses a text as the file of a path. */
export function parseSourceFile(path: string, text: string): SourceFile {
  const { program, module, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path} does not parse: ${errors[0].message}`)
  const body = program.body as unknown as readonly Node[]
  const specifiers = body.flatMap((statement) => [...walk(statement)].map(specifierOf)).filter((specifier) => specifier !== undefined)
  return {
    path,
    text,
    lines: text.replace(/\n$/, "").split("\n").length,
    isTest: /\.test(-d)?\.ts$/.test(path),
    body,
    imports: specifiers.map((specifier) => ({ specifier, file: specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined })),
    exports: module.staticExports.flatMap(({ entries }) =>
      entries.map(({ exportName, isType }) => ({
        name: exportName.kind === "None" ? "*" : exportName.kind === "Default" ? "default" : (exportName.name ?? "*"),
        isType,
      })),
    ),
  }
}

/** Every TypeScript file below a folder of the repository. Empty if there is no such folder. */
export function readSourceFiles(folder: string): readonly SourceFile[] {
  const names = () => readdirSync(fileURLToPath(new URL(`${folder}/`, root)), { recursive: true, encoding: "utf8" })
  return attempt(names)
    .map((name) => `${folder}/${name.split(sep).join("/")}`)
    .filter((path) => path.endsWith(".ts") && !path.includes("node_modules/"))
    .sort()
    .map((path) => parseSourceFile(path, readFileSync(new URL(path, root), "utf8")))
}

function attempt(list: () => readonly string[]): readonly string[] {
  try {
    return list()
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return []
    throw error
  }
}
