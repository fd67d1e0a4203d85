/**
 * Arguments while they stream: a tolerant reading of a JSON text that is not complete, for display only.
 *
 * Open lists and objects are closed, an unfinished string ends where the text ends, white space at the end counts for
 * nothing, a member whose key or value has not begun is left out, and text after the end of the value is ignored. A text
 * that does not begin like JSON reads `{}`. Each character is looked at once, however often the value is read.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { ToolCall } from "../Message.ts"

type Json = Schema.MutableJson

/** A text that grows, and its tolerant reading after any number of deltas. */
export class ArgumentText {
  private readonly deltas: Array<string> = []
  private reader = new Reader()
  private position = 0
  private value: Schema.Json = {}

  /** The number of deltas so far: the `length` with which this moment can be read later. */
  get length(): number {
    return this.deltas.length
  }

  append(delta: string): void {
    this.deltas.push(delta)
  }

  toString(): string {
    return this.deltas.join("")
  }

  /** The reading after the first `length` deltas. Reading onward is linear in total; reading back starts anew. */
  read(length: number): Schema.Json {
    if (length < this.position) {
      this.reader = new Reader()
      this.position = 0
      this.value = {}
    }
    if (length > this.position) {
      for (; this.position < length; this.position++) this.reader.feed(this.deltas[this.position]!)
      this.value = this.reader.value()
    }
    return this.value
  }
}

/**
 * A tool call whose arguments still stream. They are read when somebody looks at them, so that a delta costs the same
 * however long they are. The accessor is a property of the object's own: copies and encoders see a plain value.
 */
export class PartialToolCall implements ToolCall {
  readonly type = "toolCall"
  readonly id: string
  readonly name: string
  declare readonly arguments: Schema.Json
  readonly #text: ArgumentText
  readonly #length: number

  constructor(id: string, name: string, text: ArgumentText) {
    this.id = id
    this.name = name
    this.#text = text
    this.#length = text.length
    Object.defineProperty(this, "arguments", PartialToolCall.#arguments)
  }

  static readonly #arguments: PropertyDescriptor & ThisType<PartialToolCall> = {
    enumerable: true,
    get() {
      return this.#text.read(this.#length)
    }
  }
}

/**
 * A tool call as it is executed: its arguments are valid JSON, or `{}` where there is no text. Any other text is kept
 * beside its tolerant reading, and such a call never runs; so is JSON that nests too deeply or has a number too large.
 */
export const finishCall = (id: string, name: string, text: string): ToolCall => {
  if (text.trim() === "") return { type: "toolCall", id, name, arguments: {} }
  const parsed = Result.try(() => JSON.parse(text) as Schema.Json)
  return Result.isSuccess(parsed) && isManageable(parsed.success, MAX_DEPTH)
    ? { type: "toolCall", id, name, arguments: parsed.success }
    : { type: "toolCall", id, name, arguments: readTolerant(text), rawArguments: text }
}

/** How deeply arguments may nest. */
export const MAX_DEPTH = 256

const isManageable = (value: Schema.Json, depth: number): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null) return true
  return depth > 0 && Object.values(value).every((item: Schema.Json) => isManageable(item, depth - 1))
}

/** The tolerant reading of a whole text. */
export const readTolerant = (text: string): Schema.Json => {
  const reader = new Reader()
  reader.feed(text)
  return reader.value()
}

type Container =
  | { readonly kind: "array"; readonly items: Array<Json> }
  | {
      readonly kind: "object"
      /** Only grows: it is replaced where a key comes again. */
      members: Record<string, Json>
      readonly keys: Array<string>
      /** The key whose value is due. */
      key: string | undefined
    }

/** What the next character can be. `done` and `broken` read nothing more. */
type State = "value" | "key" | "colon" | "afterValue" | "string" | "escape" | "token" | "done" | "broken"

const BLANKS = " \t\n\r"
const ESCAPES: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }
const LITERALS: Record<string, Json> = { true: true, false: false, null: null }
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

class Reader {
  private state: State = "value"
  private root: Json | undefined
  private readonly open: Array<Container> = []
  /** The string in progress, without the blanks at its end; those may turn out to be the end of the text. */
  private text = ""
  private blanks = ""
  private isKey = false
  /** The escape, number or literal in progress. */
  private token = ""

  feed(delta: string): void {
    let at = 0
    while (at < delta.length && this.state !== "done" && this.state !== "broken") {
      at = this.state === "string" ? this.feedString(delta, at) : this.feedOne(delta[at]!, at)
    }
  }

  /**
   * The value as it stands. Containers that are still open are copied, since they will change: the outermost one now, those
   * in it when they are looked at.
   */
  value(): Json {
    const unfinished = this.unfinished()
    let last = unfinished === undefined ? undefined : () => unfinished
    for (let i = this.open.length - 1; i > 0; i--) last = viewOf(this.open[i]!, last)
    const [outermost] = this.open
    if (outermost === undefined) return last !== undefined ? last() : this.root === undefined ? {} : this.root
    if (outermost.kind === "array" || this.open.length === 1) return viewOf(outermost, last)()
    const copy = { ...outermost.members }
    let value: Json | undefined
    const get = () => (value ??= last!())
    Object.defineProperty(copy, outermost.key!, { enumerable: true, configurable: true, get })
    return copy
  }

  private unfinished(): Json | undefined {
    if ((this.state === "string" || this.state === "escape") && !this.isKey) return this.text
    return this.state === "token" ? readToken(this.token) : undefined
  }

  private feedOne(char: string, at: number): number {
    switch (this.state) {
      case "escape":
        this.feedEscape(char)
        return at + 1
      case "token":
        if (!/[\w.+-]/.test(char)) {
          this.endToken()
          return at
        }
        this.token += char
        return at + 1
      default:
        if (!BLANKS.includes(char)) this.feedStructure(char)
        return at + 1
    }
  }

  private feedStructure(char: string): void {
    const container = this.open.at(-1)
    switch (this.state) {
      case "value":
        if (char === "]" && container?.kind === "array") return this.close()
        return this.beginValue(char)
      case "key":
        if (char === '"') return this.beginString(true)
        if (char === "}") return this.close()
        this.state = "broken"
        return
      case "colon":
        this.state = char === ":" ? "value" : "broken"
        return
      case "afterValue":
        if (char === ",") this.state = container?.kind === "array" ? "value" : "key"
        else if (char === (container?.kind === "array" ? "]" : "}")) this.close()
        else this.state = "broken"
    }
  }

  private beginValue(char: string): void {
    if (char === '"') return this.beginString(false)
    if (this.open.length === MAX_DEPTH && (char === "[" || char === "{")) this.state = "broken"
    else if (char === "[") {
      this.open.push({ kind: "array", items: [] })
      this.state = "value"
    } else if (char === "{") {
      this.open.push({ kind: "object", members: {}, keys: [], key: undefined })
      this.state = "key"
    } else {
      this.token = char
      this.state = /[-\w]/.test(char) ? "token" : "broken"
    }
  }

  private beginString(isKey: boolean): void {
    this.text = ""
    this.blanks = ""
    this.isKey = isKey
    this.state = "string"
  }

  /** Reads up to the end of the string, an escape or the end of the delta, and returns where it stopped. */
  private feedString(delta: string, from: number): number {
    let at = from
    while (at < delta.length && delta.charCodeAt(at) !== 34 && delta.charCodeAt(at) !== 92) at++
    let end = at
    while (end > from && BLANKS.includes(delta[end - 1]!)) end--
    if (end > from) {
      this.text += this.blanks + delta.slice(from, end)
      this.blanks = ""
    }
    this.blanks += delta.slice(end, at)
    if (at === delta.length) return at
    this.text += this.blanks
    this.blanks = ""
    if (delta[at] === '"') this.endString()
    else {
      this.token = ""
      this.state = "escape"
    }
    return at + 1
  }

  private feedEscape(char: string): void {
    this.token += char
    if (this.token[0] === "u" && this.token.length < 5) return
    this.text +=
      this.token[0] === "u" ? String.fromCharCode(Number.parseInt(this.token.slice(1), 16)) : (ESCAPES[char] ?? char)
    this.state = "string"
  }

  private endString(): void {
    const container = this.open.at(-1)
    if (!this.isKey) return this.add(this.text)
    if (container?.kind === "object") container.key = this.text
    this.state = "colon"
  }

  private endToken(): void {
    const value = readToken(this.token)
    if (value === undefined) this.state = "broken"
    else this.add(value)
  }

  private close(): void {
    const container = this.open.pop()!
    this.add(container.kind === "array" ? container.items : container.members)
  }

  private add(value: Json): void {
    const container = this.open.at(-1)
    if (container === undefined) {
      this.root = value
      this.state = "done"
      return
    }
    if (container.kind === "array") container.items.push(value)
    else {
      const key = container.key!
      if (Object.hasOwn(container.members, key)) container.members = { ...container.members }
      else container.keys.push(key)
      setMember(container.members, key, value)
      container.key = undefined
    }
    this.state = "afterValue"
  }
}

/** A container as it is now, with its last value, which is still open: what it has now is never changed. */
const viewOf = (container: Container, last: (() => Json) | undefined): (() => Json) => {
  if (container.kind === "array") {
    const { items } = container
    const { length } = items
    return () => (last === undefined ? items.slice(0, length) : [...items.slice(0, length), last()])
  }
  const { members, keys, key } = container
  const { length } = keys
  return () => {
    const copy: Record<string, Json> = {}
    for (let i = 0; i < length; i++) setMember(copy, keys[i]!, members[keys[i]!]!)
    if (last !== undefined && key !== undefined) setMember(copy, key, last())
    return copy
  }
}

const readToken = (token: string): Json | undefined =>
  Object.hasOwn(LITERALS, token) ? LITERALS[token] : NUMBER.test(token) ? finite(Number(token)) : undefined

const finite = (number: number): number | undefined => (Number.isFinite(number) ? number : undefined)

/** Like `JSON.parse`, makes `__proto__` a member of its own. */
const setMember = (members: Record<string, Json>, key: string, value: Json): void => {
  Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true })
}
