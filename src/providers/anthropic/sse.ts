/**
 * Server-sent events out of text as it comes in, however it is cut (WHATWG HTML, section 9.2.6). Names and data are given;
 * ids, waiting times and comments are for clients that connect again.
 *
 * It searches each text once for ends of lines, so that many small texts cost no more than a large one.
 */

/** The greatest length of an event, in UTF-16 code units: the memory that a server can make a client use. */
export const MAX_EVENT_LENGTH = 64 * 1024 * 1024

export class EventDecoder {
  private line = ""
  private name = ""
  private data: string | undefined
  private isAfterCR = false
  private readonly onEvent: (name: string, data: string) => void

  constructor(onEvent: (name: string, data: string) => void) {
    this.onEvent = onEvent
  }

  /** Whether what is kept of an event that has not ended is longer than any event may be. */
  get isTooLong(): boolean {
    return this.line.length + (this.data?.length ?? 0) > MAX_EVENT_LENGTH
  }

  feed(text: string): void {
    if (text === "") return
    let from = this.isAfterCR && text.startsWith("\n") ? 1 : 0
    this.isAfterCR = false
    let lf = text.indexOf("\n", from)
    let cr = text.indexOf("\r", from)
    while (lf !== -1 || cr !== -1) {
      const isCR = lf === -1 || (cr !== -1 && cr < lf)
      const end = isCR ? cr : lf
      this.endLine(text.slice(from, end))
      from = end + 1
      if (isCR && from === lf) from += 1
      else if (isCR && from === text.length) this.isAfterCR = true
      if (lf !== -1 && lf < from) lf = text.indexOf("\n", from)
      if (cr !== -1 && cr < from) cr = text.indexOf("\r", from)
    }
    this.line += text.slice(from)
  }

  private endLine(end: string): void {
    const line = this.line === "" ? end : this.line + end
    this.line = ""
    if (line === "") return this.endEvent()
    // Nearly all lines are of this form.
    if (line.startsWith("data: ")) return this.addData(line.slice(6))
    const colon = line.indexOf(":")
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field !== "data" && field !== "event") return
    const from = colon === -1 ? line.length : line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1
    const value = line.slice(from)
    if (field === "event") this.name = value
    else this.addData(value)
  }

  private addData(value: string): void {
    this.data = this.data === undefined ? value : `${this.data}\n${value}`
  }

  private endEvent(): void {
    const { name, data } = this
    this.name = ""
    this.data = undefined
    if (data !== undefined) this.onEvent(name, data)
  }
}

const SPACE = 0x20
