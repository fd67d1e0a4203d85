/** Random files and edits of them, the same in each run: all line endings, byte order marks, wide characters, broken UTF-8. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { Edit as One } from "./editOracle.ts"

/** Numbers that are the same in each run. */
export const makeRandom = (seed: number) => {
  let state = seed
  const below = (n: number) => {
    state = (state * 48_271) % 0x7fffffff
    return Math.floor((state / 0x7fffffff) * n)
  }
  const one = <A>(of: ReadonlyArray<A>): A => of[below(of.length)]!
  const some = <A>(most: number, make: () => A): ReadonlyArray<A> => Array.from({ length: below(most + 1) }, make)
  return { below, one, some, chance: (percent: number) => below(100) < percent }
}

export type Random = ReturnType<typeof makeRandom>

const words = [
  "a",
  "b",
  "ab",
  "aa",
  "x = 1",
  "  y",
  "\tz",
  "é",
  "日本語",
  "😀",
  "e\u0301",
  "“q”",
  "it’s",
  "'q'",
  "$&",
  "$1",
  " ",
  "  "
]
const invalid = [Buffer.of(0xff), Buffer.of(0xe2, 0x82), Buffer.of(0xc0, 0x80), Buffer.of(0xed, 0xa0, 0x80)]
const endings = {
  lf: ["\n"],
  crlf: ["\r\n"],
  mixed: ["\n", "\r\n"],
  cr: ["\r"],
  all: ["\n", "\r\n", "\r", " \n", "\t\r\n"]
}

export const makeFile = (random: Random): Buffer => {
  const ends = endings[random.one(Object.keys(endings) as ReadonlyArray<keyof typeof endings>)]
  const lines = random.some(8, () => {
    const line = Buffer.from(random.some(4, () => random.one(words)).join(""))
    return random.chance(3) ? Buffer.concat([line, random.one(invalid)]) : line
  })
  const parts = lines.flatMap((line, index) => {
    const isLast = index === lines.length - 1
    return isLast && random.chance(50) ? [line] : [line, Buffer.from(random.one(ends))]
  })
  return Buffer.concat([Buffer.from(random.chance(15) ? "\ufeff" : ""), ...parts])
}

/** A piece of the file, as a model may give it: as it is, or as it was shown to it, or somewhat wrong. */
const makeOld = (random: Random, file: Buffer): string => {
  const chars = [...file.toString("utf8")]
  const start = random.below(chars.length + 1)
  const text = chars.slice(start, start + 1 + random.below(random.chance(60) ? 30 : 6)).join("")
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return text.replaceAll("\r\n", "\n")
    case 3:
      return text.replaceAll(/[ \t]+(?=\r?\n|$)/g, "").replaceAll("\r\n", "\n")
    case 4:
      return text.replaceAll(/\r?\n/g, "  \n") + random.one(["", " "])
    case 5:
      return text.replaceAll(/[“”]/g, '"').replaceAll("’", "'")
    case 6:
      return text.replaceAll(/(?<!\r)\n/g, "\r\n")
    case 7:
      return random.some(3, () => random.one([...words, "\n"])).join("")
    default:
      return text
  }
}

const makeNew = (random: Random, oldText: string): string =>
  random.chance(3)
    ? oldText
    : random.some(4, () => random.one([...words, "\n", "\n", random.chance(10) ? "\r\n" : ""])).join("")

export const makeEdits = (random: Random, file: Buffer): ReadonlyArray<One> =>
  Array.from({ length: random.one([1, 1, 1, 2, 3]) }, () => {
    const oldText = makeOld(random, file)
    const edit = { oldText, newText: makeNew(random, oldText) }
    return random.chance(20) ? { ...edit, all: true } : edit
  })

/** Files are not forced to the disk: that is what takes the time. */
export const withoutSync = Effect.updateService(FileSystem.FileSystem, (real) => ({
  ...real,
  open: (...args: Parameters<typeof real.open>) =>
    Effect.map(real.open(...args), (file): FileSystem.File => Object.create(file, { sync: { value: Effect.void } }))
}))
