import { describePart } from "./describe-part.ts"

describePart(2)
