// Keeps the output of suites that run side by side apart. The suite that began first writes at once; the output of the other suites waits in memory until
// every suite before them has ended.

export interface OutputSection {
  write(text: string): void
  /** The last lines of the section, for the summary. */
  lastLines(count: number): readonly string[]
  end(): void
}

interface Section {
  text: string
  shownUpTo: number
  isEnded: boolean
}

export class GroupedOutput {
  readonly #write: (text: string) => void
  readonly #sections: Section[] = []

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  open(): OutputSection {
    const section: Section = { text: "", shownUpTo: 0, isEnded: false }
    this.#sections.push(section)
    return {
      write: (text) => {
        section.text += text
        this.#show()
      },
      lastLines: (count) => section.text.trimEnd().split("\n").slice(-count),
      end: () => {
        section.isEnded = true
        this.#show()
      },
    }
  }

  #show(): void {
    for (let first = this.#sections[0]; first; first = this.#sections[0]) {
      if (first.shownUpTo < first.text.length) this.#write(first.text.slice(first.shownUpTo))
      first.shownUpTo = first.text.length
      if (!first.isEnded) return
      this.#sections.shift()
    }
  }
}
