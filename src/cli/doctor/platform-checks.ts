import { createRequire } from "node:module"
import { typeScriptFlags } from "../user-code/workflow-entry.ts"
import { fail, type Finding, ok } from "./finding.ts"

const nodeMin = [22, 13] as const

/** Checks Node, SQLite, and the packages that some entries need. */
export async function platformChecks(): Promise<readonly Finding[]> {
  return [checkNode(), await checkSqlite(), ...peers.map(checkPeer)]
}

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1])
  if (isOld) return fail("node", `Node ${process.versions.node} is too old`, `install Node ${nodeMin.join(".")} or newer`)
  return ok(
    "node",
    `Node ${process.versions.node}${typeScriptFlags().length === 0 ? ", loads TypeScript" : ", loads TypeScript with an option that the CLI adds"}`,
  )
}

async function checkSqlite(): Promise<Finding> {
  try {
    const { DatabaseSync } = await import("node:sqlite")
    const database = new DatabaseSync(":memory:")
    const row = database.prepare("SELECT sqlite_version() AS version").get()
    database.close()
    return ok("sqlite", `SQLite ${String(row?.["version"])}`)
  } catch (error) {
    return fail("sqlite", `node:sqlite cannot be used: ${String(error)}`, "install an official build of Node")
  }
}

const peers = [
  { name: "hono", use: "perdure/http and perdure dev", way: "npm install hono @hono/node-server" },
  { name: "@hono/node-server", use: "perdure/http and perdure dev", way: "npm install hono @hono/node-server" },
  { name: "pg", use: "PostgreSQL", way: "npm install pg" },
]

/** A missing peer is no problem, because peers are optional. */
function checkPeer({ name, use, way }: (typeof peers)[number]): Finding {
  const require = createRequire(import.meta.url)
  try {
    const { version } = require(`${name}/package.json`) as { readonly version: string }
    return ok(name, version)
  } catch (error) {
    const isHidden = error instanceof Error && "code" in error && error.code === "ERR_PACKAGE_PATH_NOT_EXPORTED"
    return isHidden ? ok(name, "installed") : ok(name, `not installed; needed only for ${use} (${way})`)
  }
}
