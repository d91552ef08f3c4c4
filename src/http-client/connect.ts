import { realPace } from "./retry-pacing.ts"
import { RemoteClient } from "./remote-client.ts"
import type { ConnectOptions } from "./transport.ts"

/**
 * A client of the engine behind an HTTP API. It makes no request yet. Throws `BAD_OPTION` if the text is not the address of a server. Its calls throw
 * `UNREACHABLE` when the server does not answer in time.
 *
 * @example
 * const client = connect("http://127.0.0.1:8787", { token: "secret" })
 * const handle = await client.start(order, { input: { item: "lamp" } })
 * console.log(await handle.result({ timeout: "1m" }))
 * await client.close()
 */
export function connect(url: string, options: ConnectOptions = {}): RemoteClient {
  return new RemoteClient(url, options, realPace)
}
