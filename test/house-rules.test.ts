// The house rules that a machine can check. A rule has no list of exempted files. A need for an exemption shows a flaw in the design, or in the rule.

import { readFileSync } from "node:fs"
import { posix } from "node:path"
import { describe, expect, it } from "vitest"
import { uncheckedSql } from "../tools/house-rules/sql-text.ts"
import { type Node, placeOf, readSourceFiles, type SourceFile, walk } from "../tools/house-rules/source-file.ts"

const layers = [
  "core",
  "ports",
  "client-api",
  "engine",
  "stores",
  "hosts",
  "dialects",
  "http",
  "http-client",
  "observe",
  "archive",
  "cloudflare/platform",
  "cloudflare/store",
  "cloudflare/client",
  "cloudflare/objects",
  "cloudflare/runner",
  "cli",
  "testing",
] as const
type Layer = (typeof layers)[number]

const programs: readonly Layer[] = ["cli", "testing"]

/** The layers that each layer may import besides itself. An entry may import every layer. The command line is a program, and may also import entries. */
const mayImport: Record<Layer, readonly Layer[]> = {
  core: [],
  ports: ["core"],
  /** The interface of a client, and the code that all clients share. */
  "client-api": ["core"],
  engine: ["client-api", "core", "ports"],
  stores: ["core", "ports"],
  hosts: ["engine", "ports", "core"],
  dialects: ["engine", "client-api", "ports", "core"],
  /** The API answers in the words of a dialect, if it is asked to. */
  http: ["dialects", "engine", "client-api", "core"],
  /** The client shares the wire format of the server. */
  "http-client": ["http", "client-api", "core"],
  observe: ["engine", "client-api", "core"],
  archive: ["engine", "client-api", "core"],
  "cloudflare/platform": ["ports", "core"],
  "cloudflare/store": ["cloudflare/platform", "stores", "ports", "core"],
  "cloudflare/objects": ["cloudflare/platform", "cloudflare/store", "hosts", "engine", "client-api", "ports", "core"],
  "cloudflare/client": ["cloudflare/platform", "cloudflare/objects", "cloudflare/store", "engine", "client-api", "ports", "core"],
  /** Puts the class of a Worker together from all other layers. */
  "cloudflare/runner": layers.filter((layer) => !programs.includes(layer)),
  cli: layers.filter((layer) => !programs.includes(layer)),
  testing: layers.filter((layer) => !programs.includes(layer)),
}

function layerOf(path: string): Layer | "entry" | undefined {
  const inSource = path.slice("src/".length)
  return inSource.includes("/") ? layers.find((layer) => inSource.startsWith(`${layer}/`)) : "entry"
}

const sources = readSourceFiles("src")
const modules = sources.filter((file) => !file.isTest)
/** The package does not contain the suites for stores and hosts, which lie beside the test kit: tsconfig.build.json leaves them out. */
const shipped = modules.filter((file) => !/^src\/testing\/(store-conformance|host-conformance|client-conformance|scenarios)\//.test(file.path))
const entries = modules.filter((file) => layerOf(file.path) === "entry")

/** Fails with the list of findings, one a line. */
function expectNone(rule: string, findings: readonly string[]): void {
  expect(findings, `${rule}\n  ${findings.join("\n  ")}\n`).toEqual([])
}

const inLayers = (...chosen: readonly Layer[]) => modules.filter((file) => chosen.some((layer) => layer === layerOf(file.path)))

const nodesOf = (file: SourceFile) => file.body.flatMap((statement) => [...walk(statement)])

const isNamed = (value: unknown, ...names: readonly string[]) => names.includes((value as Partial<Record<"name", string>> | null)?.name ?? "")

const isMember = (node: Node, object: string, ...properties: readonly string[]) =>
  node.type === "MemberExpression" && isNamed(node["object"], object) && isNamed(node["property"], ...properties)

const isCall = (node: Node, ...names: readonly string[]) => node.type === "CallExpression" && isNamed(node["callee"], ...names)

const places = (files: readonly SourceFile[], isOffence: (node: Node) => boolean) =>
  files.flatMap((file) =>
    nodesOf(file)
      .filter(isOffence)
      .map((node) => `${placeOf(file, node)}  ${file.text.slice(node.start, node["end"] as number).split("\n")[0]}`),
  )

/** All files and packages that are loaded with a file, including the file itself. Imports of types load nothing. */
function loadedBy(entry: string): readonly string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]))
  const loaded = new Set<string>()
  const load = (path: string) => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const statement of byPath.get(path)?.body ?? []) {
      const specifier = (statement["source"] as { readonly value?: string } | null | undefined)?.value
      if (specifier === undefined || statement["importKind"] === "type" || statement["exportKind"] === "type") continue
      load(specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier)
    }
  }
  load(entry)
  return [...loaded]
}

describe("imports", () => {
  it("every folder of src is a layer that the rules know", () => {
    expectNone(
      `a new layer needs its arrows: add it to \`mayImport\`. Unknown:`,
      modules.filter((file) => layerOf(file.path) === undefined).map((file) => file.path),
    )
  })

  it("imports point one way", () => {
    const findings = modules.flatMap((file) => {
      const from = layerOf(file.path)
      if (from === undefined || from === "entry") return []
      return file.imports.flatMap(({ specifier, file: imported }) => {
        if (imported === undefined) return []
        const to = layerOf(imported)
        if (to === from || (to === "entry" && from === "cli") || (to !== undefined && to !== "entry" && mayImport[from].includes(to))) return []
        return [`${file.path} imports ${specifier}: ${from} may import only ${[from, ...mayImport[from]].join(", ")}`]
      })
    })
    expectNone("imports against the arrows; move the code down a layer, or pass it in through a port:", findings)
  })

  it("a store never imports another store, a host never another host", () => {
    const findings = inLayers("stores", "hosts").flatMap((file) => {
      const [, layer, part, ...rest] = file.path.split("/")
      return file.imports.flatMap(({ file: imported }) => {
        const [, importedLayer, importedPart, ...importedRest] = imported?.split("/") ?? []
        const crosses = rest.length > 0 && importedRest.length > 0 && layer === importedLayer && part !== importedPart && importedPart !== "shared"
        return crosses ? [`${file.path} imports ${imported}`] : []
      })
    })
    expectNone("move what both need to stores/shared, core or ports:", findings)
  })

  it("the HTTP client takes from the server only types and the wire format: it runs in browsers", () => {
    const findings = inLayers("http-client").flatMap((file) =>
      file.body
        .filter((statement) => statement.type === "ImportDeclaration" && statement["importKind"] !== "type")
        .map((statement) => String((statement["source"] as { readonly value: string }).value))
        .filter((specifier) => specifier.startsWith("../http/") && specifier !== "../http/wire-format.ts")
        .map((specifier) => `${file.path} imports ${specifier}`),
    )
    expectNone("import it as a type, or move what both need to core:", findings)
  })

  it("what perdure/client loads is the HTTP client, client-api, core and the wire format, and nothing of Node", () => {
    const loaded = loadedBy("src/client.ts")
    expect(loaded.length).toBeGreaterThan(10)
    expectNone(
      "import it as a type, or move it to core:",
      loaded.filter((path) => !/^src\/(client\.|http-client\/|client-api\/|core[/.])/.test(path) && path !== "src/http/wire-format.ts"),
    )
  })

  it("the store of a Durable Object loads nothing of Node", () => {
    const loaded = loadedBy("src/cloudflare/runner/open-object-store.ts")
    expect(loaded.length).toBeGreaterThan(10)
    expectNone(
      "take it in through the driver:",
      loaded.filter((path) => path.startsWith("node:")),
    )
  })

  it("core imports no package", () => {
    const findings = inLayers("core").flatMap((file) =>
      file.imports.filter(({ file: imported }) => imported === undefined).map(({ specifier }) => `${file.path} imports ${specifier}`),
    )
    expectNone("core is pure:", findings)
  })

  it("core, ports, client-api, engine, http, http-client and testing run on every host, so they import nothing of Node", () => {
    const findings = inLayers("core", "ports", "client-api", "engine", "http", "http-client", "testing").flatMap((file) =>
      file.imports.filter(({ specifier }) => specifier.startsWith("node:")).map(({ specifier }) => `${file.path} imports ${specifier}`),
    )
    expectNone("ask the Host for it, or take it as a parameter:", findings)
  })

  it("an optional peer is reached from its own layer alone", () => {
    const findings = modules
      .filter((file) => layerOf(file.path) !== "http")
      .flatMap((file) => file.imports.filter(({ specifier }) => /^@?hono(\/|$)/.test(specifier)).map(({ specifier }) => `${file.path} imports ${specifier}`))
    expectNone("whoever does not use the HTTP API need not have it:", findings)
  })

  it("only the command line imports dependencies: everybody else brings what they use", () => {
    const names = Object.keys(readManifest("package.json").dependencies ?? {})
    const findings = modules
      .filter((file) => layerOf(file.path) !== "cli")
      .flatMap((file) => file.imports.filter(({ specifier }) => names.includes(specifier)).map(({ specifier }) => `${file.path} imports ${specifier}`))
    expect(names.length).toBeGreaterThan(0)
    expectNone("a library would grow the bundle of every Worker; make it an optional peer with an entry of its own:", findings)
  })

  it("modules import only packages that users get with perdure, or bring as peers", () => {
    const manifest = readManifest("package.json")
    const allowed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    const findings = shipped.flatMap((file) =>
      file.imports
        .filter(({ specifier, file: imported }) => imported === undefined && !specifier.startsWith("node:"))
        // This module belongs to the platform, as the modules of Node do.
        .filter(({ specifier }) => !(specifier === "cloudflare:workers" && file.path.startsWith("src/cloudflare/")))
        .filter(({ specifier }) => !allowed.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
        .map(({ specifier }) => `${file.path} imports ${specifier}`),
    )
    expectNone(`dependencies and peers are ${allowed.join(", ")}:`, findings)
  })
})

describe("purity", () => {
  const now = "time comes in through an entry (core) or Host.now (engine):"

  it("core, client-api and engine read no clock", () => {
    const isOffence = (node: Node) =>
      isMember(node, "Date", "now") ||
      isMember(node, "performance", "now") ||
      isCall(node, "Date") ||
      (node.type === "NewExpression" && isNamed(node["callee"], "Date") && (node["arguments"] as readonly Node[]).length === 0)
    expectNone(now, places(inLayers("core", "client-api", "engine"), isOffence))
  })

  it("core, client-api and engine draw no randomness of their own", () => {
    const isOffence = (node: Node) => isMember(node, "Math", "random") || isMember(node, "crypto", "randomUUID", "getRandomValues")
    expectNone(
      "randomness comes from the instance's seeded generator (core) or Host.randomBytes (engine):",
      places(inLayers("core", "client-api", "engine"), isOffence),
    )
  })

  it("core, client-api and engine set no timers of their own", () => {
    const isOffence = (node: Node) => isCall(node, "setTimeout", "setInterval", "setImmediate")
    expectNone("use Host.setTimer or Host.quiesce, so that tests can move time:", places(inLayers("core", "client-api", "engine"), isOffence))
  })

  it("ports hold types only", () => {
    const isType = (statement: Node) =>
      statement.type === "TSInterfaceDeclaration" ||
      statement.type === "TSTypeAliasDeclaration" ||
      statement["importKind"] === "type" ||
      statement["exportKind"] === "type"
    const findings = inLayers("ports").flatMap((file) => file.body.filter((statement) => !isType(statement)).map((statement) => placeOf(file, statement)))
    expectNone("a port is an interface; use `import type`, and put code into core or engine:", findings)
  })
})

describe("SQL", () => {
  it("is built of text of the sources and of checked words", () => {
    expectNone("bind it as a parameter, or look it up in a closed list (src/stores/shared/query-words.ts):", uncheckedSql(shipped))
  })
})

describe("files", () => {
  it("no file of src is longer than 400 lines", () => {
    const findings = sources.filter((file) => file.lines > 400).map((file) => `${file.path}: ${file.lines} lines`)
    expectNone("over 400 lines the design is wrong; find the second idea in it and give it a file:", findings)
  })

  it("half of the modules are shorter than 120 lines", () => {
    const lengths = modules.map((file) => file.lines).sort((a, b) => a - b)
    const median = lengths[Math.floor(lengths.length / 2)] ?? 0
    console.log(`src: ${modules.length} modules, median ${median} lines, longest ${lengths.at(-1) ?? 0}`)
    expect(median, "the median length of a module").toBeLessThan(120)
  })

  it("no folder of src has more than 25 modules", () => {
    const modulesIn = new Map<string, number>()
    for (const { path } of modules) modulesIn.set(posix.dirname(path), (modulesIn.get(posix.dirname(path)) ?? 0) + 1)
    const findings = [...modulesIn].filter(([, count]) => count > 25).map(([folder, count]) => `${folder}: ${count} modules`)
    expectNone("find the second subject in the folder and give it a folder:", findings)
  })

  it("names are kebab-case nouns that say what is inside", () => {
    const saysNothing = /(^|[/-])(utils?|helpers?|common|lib|interfaces|managers?)([/.-]|$)|(^|\/)types\.ts$/
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.test-d|\.d)?\.ts$/
    const findings = sources.map((file) => file.path.slice("src/".length)).filter((path) => saysNothing.test(path) || !kebab.test(path.split("/").at(-1) ?? ""))
    expectNone("name the file after its main export:", findings)
  })
})

describe("exports", () => {
  it("nothing is exported by default", () => {
    expectNone(
      "a default export has no name to search for:",
      sources.filter((file) => file.exports.some(({ name }) => name === "default")).map((file) => file.path),
    )
  })

  it("an entry lists its exports by name", () => {
    expectNone(
      "the public surface is listed by hand, no `export *`:",
      entries.filter((file) => file.exports.some(({ name }) => name === "*")).map((file) => file.path),
    )
  })
})

describe("tests", () => {
  it("none is skipped, singled out or left to do", () => {
    const files = [...sources, ...readSourceFiles("test"), ...readSourceFiles("examples")]
    const isOffence = (node: Node) => ["it", "test", "describe", "suite"].some((name) => isMember(node, name, "skip", "only", "todo"))
    expectNone("a test runs or is deleted:", places(files, isOffence))
  })
})

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8")) as Manifest
}

describe("dependencies", () => {
  it("every version is exact", () => {
    const findings = [
      "package.json",
      "tools/node/package.json",
      "bench/peers/package.json",
      "test/workerd/package.json",
      "test/side-by-side/package.json",
    ].flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies } = readManifest(path)
      return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${path}: ${name} ${version}`)
    })
    expectNone("an older npm silently picks older versions from a range:", findings)
  })

  it.each(["package-lock.json", "bench/peers/package-lock.json"])("%s names no registry", (path) => {
    const lockfile = readFileSync(new URL(`../${path}`, import.meta.url), "utf8")
    expectNone("keep `omit-lockfile-registry-resolved` in .npmrc:", lockfile.match(/"resolved": "https?:.*"/g) ?? [])
  })
})
