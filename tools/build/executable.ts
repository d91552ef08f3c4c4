// Makes the file that `bin` of package.json names executable, because the bundler does not.

import { chmodSync } from "node:fs"

chmodSync(new URL("../../dist/node/main.js", import.meta.url), 0o755)
