import { realPace } from "./pace.ts"
import { RemoteClient } from "./remote-client.ts"
import type { ConnectOptions } from "./transport.ts"

/** A client of the engine behind an HTTP API. Makes no request yet. */
export function connect(url: string, options: ConnectOptions = {}): RemoteClient {
  return new RemoteClient(url, options, realPace)
}
