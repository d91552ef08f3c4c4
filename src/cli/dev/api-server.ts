import { PerdureError } from "../../core/errors.ts"
import type { Client } from "../../client-api/client-api.ts"
import { CommandError, exitCodes } from "../exit-code.ts"

/** Serves the HTTP API on this machine. Perdure does not install the packages that the server needs. */
export async function serveApi(engine: Client, port: number): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { serve } = await import("../../http.ts").catch((cause: unknown) => {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"
    throw isMissing
      ? new CommandError(
          "MISSING_PACKAGE",
          exitCodes.failed,
          "the HTTP API needs two packages: npm install hono @hono/node-server (or leave it out with --no-api)",
          { cause },
        )
      : cause
  })
  return serve(engine, { port }).catch((cause: unknown) => {
    if (!PerdureError.is(cause, "ADDRESS_IN_USE")) throw cause
    throw new CommandError(cause.code, exitCodes.failed, `port ${port} is in use; stop the program that listens there, or choose another with --port`, {
      cause,
    })
  })
}
