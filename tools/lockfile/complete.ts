// Completes package-lock.json with the platform packages that npm left out of it.
//
// A registry mirror may hold a native package for some platforms only. `npm install` then silently drops the other platforms from the lockfile, and `npm ci` refuses
// that lockfile: "Missing: <package>@ from lock file". With an entry that names the version and the platform, `npm ci` skips the package, and
// installs it on a machine of that platform. Run `npm run lockfile` after each change of a dependency.

import { readFileSync, writeFileSync } from "node:fs"

interface LockedPackage {
  version?: string
  optionalDependencies?: Record<string, string>
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
}

interface Lockfile {
  packages: Record<string, LockedPackage>
}

const lockfileUrl = new URL("../../package-lock.json", import.meta.url)
const exactVersion = /^\d+\.\d+\.\d+(-[\w.]+)?$/
const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"]
const processors = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "x64", "wasm32"]

/** The location where Node finds `name` from `location`, walking up the folders of the lockfile. */
function find(packages: Lockfile["packages"], location: string, name: string): string | undefined {
  for (let folder = location; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const candidate = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`
    if (packages[candidate]) return candidate
    if (folder === "") return undefined
    if (!folder.includes("/node_modules/")) folder = ""
  }
}

function platformOf(name: string): Pick<LockedPackage, "os" | "cpu" | "libc"> | undefined {
  const words = name.split(/[/-]/)
  const os = systems.find((system) => words.includes(system)) ?? (words.includes("win") || words.includes("windows") ? "win32" : undefined)
  // workerd calls x64 "64".
  const cpu = processors.find((processor) => words.includes(processor)) ?? (words.at(-1) === "64" ? "x64" : undefined)
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : words.some((word) => word.startsWith("gnu")) ? "glibc" : undefined
  if (!cpu) return undefined
  return { cpu: [cpu], ...(os === "linux" && libc ? { libc: [libc] } : {}), ...(os ? { os: [os] } : {}) }
}

const lockfile = JSON.parse(readFileSync(lockfileUrl, "utf8")) as Lockfile
const added: string[] = []
const unknown: string[] = []
for (const [location, locked] of Object.entries(lockfile.packages)) {
  for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
    if (find(lockfile.packages, location, name)) continue
    const platform = platformOf(name)
    if (!platform || !exactVersion.test(version)) {
      unknown.push(`${name}@${version} (of ${location === "" ? "the root" : location})`)
      continue
    }
    lockfile.packages[`node_modules/${name}`] = { version, ...platform, ...(locked.dev ? { dev: true } : {}), optional: true }
    added.push(`${name}@${version}`)
  }
}

const sorted = Object.fromEntries(Object.entries(lockfile.packages).sort(([a], [b]) => a.localeCompare(b, "en")))
if (added.length > 0) writeFileSync(lockfileUrl, `${JSON.stringify({ ...lockfile, packages: sorted }, undefined, 2)}\n`)
console.log(added.length === 0 ? "package-lock.json is complete" : `added to package-lock.json: ${added.length} platform packages`)
if (unknown.length > 0) {
  console.error(`optional dependencies that the registry did not give, of which the platform or version cannot be told:\n  ${unknown.join("\n  ")}`)
  process.exitCode = 1
}
