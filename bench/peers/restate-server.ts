// The server of Restate, as its npm package brings it: one node, on the loopback, in a temporary folder. Each process that is
// measured gets a new one, so that none has to carry the journals of another.

import { spawn } from "node:child_process"
import { chmodSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import type { RestateAddress } from "./adapter.ts"
import { restate } from "./adapters/restate-peer.ts"
import { packageFolder } from "./installation.ts"
import { freePort, keep, remove, stop, temporaryFolder } from "./processes.ts"

export interface RestateServer extends AsyncDisposable {
  readonly address: RestateAddress
  /** Its resident set; known on Linux only. */
  residentMb(): number | undefined
}

const readyMsMax = 60_000

export async function startRestate(parent: string | undefined): Promise<RestateServer> {
  const binary = join(packageFolder(`@restatedev/restate-server-${process.platform}-${process.arch}`), "bin", "restate-server")
  chmodSync(binary, 0o755)
  const folder = temporaryFolder(parent)
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()]
  const server = keep(
    spawn(binary, ["--no-logo", "--node-name", "bench"], {
      cwd: folder,
      env: {
        ...process.env,
        DO_NOT_TRACK: "1",
        RESTATE_DISABLE_TELEMETRY: "true",
        RESTATE_BASE_DIR: folder,
        RESTATE_DEFAULT_NUM_PARTITIONS: String(restate.settings.defaultNumPartitions),
        RESTATE_LISTEN_MODE: "tcp",
        RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}/`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_LOG_FILTER: "error",
      },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  )
  let said = ""
  for (const stream of [server.stdout, server.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4_000)))
  const address = { ingressUrl: `http://127.0.0.1:${ingress}`, adminUrl: `http://127.0.0.1:${admin}` }
  const until = Date.now() + readyMsMax
  while (!((await answers(`${address.adminUrl}/health`)) && (await answers(`${address.ingressUrl}/restate/health`)))) {
    if (server.exitCode !== null || server.signalCode !== null) throw new Error(`restate-server ended: ${said.trim()}`)
    if (Date.now() > until) throw new Error(`restate-server was not ready after ${readyMsMax / 1_000} s: ${said.trim()}`)
    await delay(50)
  }
  return {
    address,
    residentMb: () => (server.pid === undefined ? undefined : residentMb(server.pid)),
    async [Symbol.asyncDispose]() {
      await stop(server, "SIGTERM")
      remove(folder)
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

function residentMb(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}
