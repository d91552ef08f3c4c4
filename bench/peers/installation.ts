// The packages of the peers: in bench/peers/node_modules, installed when they are first asked for, and again when the lockfile changes.

import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { keep } from "./processes.ts"

const folder = new URL("./", import.meta.url)
const stamp = new URL("node_modules/.installed-lockfile", folder)

/** The folder that a package of the peers is in. */
export const packageFolder = (name: string) => fileURLToPath(new URL(`node_modules/${name}/`, folder))

export function versionOf(name: string): string {
  const manifest = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, folder), "utf8")) as { readonly version: string }
  return manifest.version
}

/** Throws with the reason when it does not work. */
export async function install(): Promise<void> {
  const lockfile = createHash("sha256")
    .update(readFileSync(new URL("package-lock.json", folder)))
    .digest("hex")
  if (installed() === lockfile) return
  console.log("\nInstalling the peers into bench/peers/node_modules (about 300 MB) …")
  const { npm_execpath: npm, npm_config_local_prefix: _root, ...env } = process.env
  const [command, args] = npm === undefined ? ["npm", ["ci"]] : [process.execPath, [npm, "ci"]]
  const child = keep(spawn(command, args, { cwd: folder, env, stdio: ["ignore", "inherit", "inherit"] }))
  const [code] = (await once(child, "close")) as [number | null]
  if (code !== 0) throw new Error(`\`npm ci\` in bench/peers ended with code ${String(code)}`)
  writeFileSync(stamp, lockfile)
}

function installed(): string | undefined {
  try {
    return readFileSync(stamp, "utf8")
  } catch {
    return undefined
  }
}
