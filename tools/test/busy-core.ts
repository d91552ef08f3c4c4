// Keeps one core of the machine busy from another process, so that tests run as they do on a machine that others use.

import { spawn } from "node:child_process"

/** The code ends when this process ends, at the latest. */
const busyCode = `
process.stdin.on("end", () => process.exit()).resume()
const work = () => {
  const until = Date.now() + 20
  while (Date.now() < until);
  setImmediate(work)
}
work()
`

/** Returns a function that ends the load. */
export function keepCoreBusy(): () => void {
  const child = spawn(process.execPath, ["-e", busyCode], { stdio: ["pipe", "ignore", "ignore"] })
  return () => void child.kill()
}
