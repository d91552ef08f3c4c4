import { fileURLToPath } from "node:url"
import { recognise } from "../../core/values/user-stack.ts"

const sourceFolders = ["core", "client-api", "engine", "ports", "stores", "hosts", "cloudflare", "http", "http-client", "cli", "dialects"]
const testFile = /\.test\.ts:/

/** Makes stack traces tell frames of this copy of Perdure from frames of the user's code, also in a checkout or a linked package. */
export function recogniseOwnFrames(): void {
  const places = placesOf(import.meta.url)
  recognise((frame) => places.some((place) => frame.includes(place)) && !testFile.test(frame))
}

/** The folders of this copy, from the URL of a bundle of the package or of this module. None: it is in a user's bundle, in which frames cannot be told apart. */
function placesOf(address: string): readonly string[] {
  const built = /^.*\/dist\/(?=node\/[\w-]+\.js|hosts\/node\/own-frames\.js)/.exec(address)?.[0]
  const source = /^.*\/src\/(?=hosts\/node\/own-frames\.ts)/.exec(address)?.[0]
  const folders = built === undefined ? (source === undefined ? [] : sourceFolders.map((folder) => `${source}${folder}/`)) : [built]
  return folders.flatMap((folder) => [folder, fileURLToPath(folder)])
}
