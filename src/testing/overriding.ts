export { overriding } from "../engine/method-overrides.ts"
