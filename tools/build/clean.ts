// Empties dist/ so that a file that was deleted from src/ is not published.

import { rmSync } from "node:fs"

rmSync(new URL("../../dist", import.meta.url), { recursive: true, force: true })
