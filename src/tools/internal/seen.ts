/**
 * What the tools of an agent last saw of each file, so that a change by anybody else (a person, a command) is noticed
 * before it is overwritten. Small files are kept as they are, which tells what has changed; of others only their size,
 * time and number.
 */
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as TextDiff from "effect/TextDiff"
import { count, decode } from "./text.ts"

/** Up to which size a file is kept whole, and how much is kept of all files. */
export const MAX_KEPT_FILE = 256 * 1024
export const MAX_KEPT = 16 * 1024 * 1024
/** Of how many files something is remembered. */
const MAX_FILES = 10_000
/** How long a description of a change may be, in characters. */
const MAX_CHANGE = 2_000

export interface Snapshot {
  readonly info: FileSystem.File.Info
  /** All bytes of the file, if they are known. They must not change any more. */
  readonly content?: Uint8Array | undefined
}

export interface Seen {
  /** Begins to look at a file. What it gives keeps what was seen, unless a tool has written the file in the meantime. */
  readonly begin: (path: string) => (snapshot: Snapshot) => void
  /** Keeps what a tool has written. */
  readonly wrote: (path: string, snapshot: Snapshot) => void
  readonly get: (path: string) => Snapshot | undefined
}

export const make = (): Seen => {
  const files = new Map<string, Snapshot & { readonly writes: number }>()
  let kept = 0

  const drop = (path: string) => {
    kept -= files.get(path)?.content?.length ?? 0
    files.delete(path)
  }

  const keep = (path: string, { content, info }: Snapshot, writes: number) => {
    drop(path)
    const whole = content !== undefined && content.length <= MAX_KEPT_FILE ? content : undefined
    kept += whole?.length ?? 0
    files.set(path, { info, content: whole, writes })
    if (files.size > MAX_FILES) drop(files.keys().next().value!)
    for (const [name, old] of files) {
      if (kept <= MAX_KEPT) break
      kept -= old.content?.length ?? 0
      files.set(name, { ...old, content: undefined })
    }
  }

  const writesOf = (path: string) => files.get(path)?.writes ?? 0

  return {
    begin: (path) => {
      const writes = writesOf(path)
      return (snapshot) => {
        if (writesOf(path) === writes) keep(path, snapshot, writes)
      }
    },
    wrote: (path, snapshot) => keep(path, snapshot, writesOf(path) + 1),
    get: (path) => files.get(path)
  }
}

/** Remembers nothing, and so finds nothing changed. */
export const nothing: Seen = { begin: () => () => {}, wrote: () => {}, get: () => undefined }

/** Whether a file is still what was seen of it, as far as the system tells without reading it. */
export const looksUnchanged = (before: Snapshot, info: FileSystem.File.Info): boolean =>
  before.info.size === info.size &&
  timeOf(before.info) === timeOf(info) &&
  Option.getOrUndefined(before.info.ino) === Option.getOrUndefined(info.ino)

const timeOf = ({ mtime }: FileSystem.File.Info): number | undefined => Option.getOrUndefined(mtime)?.getTime()

/** What has changed in a file, in words; nothing if it is the same. */
export const describeChange = (before: Snapshot, now: Snapshot): string | undefined => {
  if (before.content !== undefined && now.content !== undefined) {
    return isEqual(before.content, now.content) ? undefined : diff(before.content, now.content)
  }
  if (looksUnchanged(before, now.info)) return undefined
  const sizes = [before, now].map(({ content, info }) => count(content?.length ?? Number(info.size)))
  const written = Option.map(now.info.mtime, (time) => ` It was last written at ${time.toISOString()}.`)
  const size =
    sizes[0] === sizes[1] ? "Its size is the same." : `Its size was ${sizes[0]} bytes and is ${sizes[1]} now.`
  return size + Option.getOrElse(written, () => "")
}

const diff = (before: Uint8Array, now: Uint8Array): string => {
  const text = TextDiff.unified(TextDiff.lines(decode(before), decode(now), { maxEdits: 500 }), { context: 1 })
  return text.length > MAX_CHANGE ? `${text.slice(0, MAX_CHANGE).toWellFormed()}…` : text.trimEnd()
}

export const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && firstDifference(one, other) === one.length

/** Word by word as far as that goes, which is four times as fast. */
const firstDifference = (one: Uint8Array, other: Uint8Array): number => {
  let at = 0
  if (one.byteOffset % 4 === 0 && other.byteOffset % 4 === 0) {
    const words = [one, other].map((bytes) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2))
    const [some, others] = [words[0]!, words[1]!]
    let word = 0
    while (word < some.length && some[word] === others[word]) word++
    at = word * 4
  }
  while (at < one.length && one[at] === other[at]) at++
  return at
}
