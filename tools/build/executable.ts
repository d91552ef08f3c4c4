// What `bin` of package.json names can be run as it is: the compiler does not make it so.

import { chmodSync } from "node:fs"

chmodSync(new URL("../../dist/node/main.js", import.meta.url), 0o755)
