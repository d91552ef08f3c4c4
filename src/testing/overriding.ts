export { overriding } from "../engine/overriding.ts"
