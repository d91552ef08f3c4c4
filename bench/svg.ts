/** Children are elements; a text is given to `element("text", …)` or `element("title", …)` alone, and escaped. */
export function element(name: string, attributes: Readonly<Record<string, string | number>>, ...children: readonly string[]): string {
  const head = Object.entries(attributes).map(([key, value]) => ` ${key}="${typeof value === "number" ? numberText(value, "") : escaped(value)}"`)
  if (name === "text" || name === "title") return `<${name}${head.join("")}>${escaped(children.join(""))}</${name}>`
  return children.length === 0 ? `<${name}${head.join("")}/>` : `<${name}${head.join("")}>\n${children.join("\n")}\n</${name}>`
}

/** A short text of a number, without the noise of binary fractions. */
export function numberText(value: number, thousands = ","): string {
  const rounded = Number(value.toFixed(3))
  const [whole = "", fraction] = String(rounded).split(".")
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, thousands)
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
