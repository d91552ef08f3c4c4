import type { PeerDescription } from "../adapter.ts"

export const restate = {
  id: "restate",
  name: "Restate, its own server",
  packages: ["@restatedev/restate-server", "@restatedev/restate-sdk", "@restatedev/restate-sdk-clients"],
  needs: "restate",
  settings: {
    server: "one node, otherwise its defaults, which sync its log to disk",
    defaultNumPartitions: 2,
    requests: "one call from start to result",
    sdkTransport: "HTTP/2, bidirectional",
  },
  remarks: ["the server is a second process, which has a processor of its own where there are two"],
} as const satisfies PeerDescription
