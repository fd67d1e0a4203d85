// The edit tool on 10,000 generated files and edits, each byte compared with the oracle.
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import * as Edit from "../../src/tools/Edit.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { type Edit as One, expected } from "./editOracle.ts"
import { execute, folder, services, within } from "./support.ts"

const CASES = 10_000

/** Numbers that are the same in each run. */
const makeRandom = (seed: number) => {
  let state = seed
  const below = (n: number) => {
    state = (state * 48_271) % 0x7fffffff
    return Math.floor((state / 0x7fffffff) * n)
  }
  const one = <A>(of: ReadonlyArray<A>): A => of[below(of.length)]!
  const some = <A>(most: number, make: () => A): ReadonlyArray<A> => Array.from({ length: below(most + 1) }, make)
  return { below, one, some, chance: (percent: number) => below(100) < percent }
}

type Random = ReturnType<typeof makeRandom>

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

const makeFile = (random: Random): Buffer => {
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

const makeEdits = (random: Random, file: Buffer): ReadonlyArray<One> =>
  Array.from({ length: random.one([1, 1, 1, 2, 3]) }, () => {
    const oldText = makeOld(random, file)
    const edit = { oldText, newText: makeNew(random, oldText) }
    return random.chance(20) ? { ...edit, all: true } : edit
  })

/** Files are not forced to the disk: that is what takes the time. */
const withoutSync = Effect.updateService(FileSystem.FileSystem, (real) => ({
  ...real,
  open: (...args: Parameters<typeof real.open>) =>
    Effect.map(real.open(...args), (file): FileSystem.File => Object.create(file, { sync: { value: Effect.void } }))
}))

it.live(
  `an edit does to each byte what the oracle says, in ${CASES} cases`,
  () =>
    Effect.gen(function* () {
      const { root } = yield* Workspace
      const path = `${root}/file`
      const random = makeRandom(20_261_130)
      const counts = {
        exact: 0,
        lineEndings: 0,
        blanksAndQuotes: 0,
        several: 0,
        all: 0,
        refused: 0,
        notUtf8: 0,
        bom: 0
      }
      for (let n = 0; n < CASES; n++) {
        const file = makeFile(random)
        const edits = makeEdits(random, file)
        writeFileSync(path, file)
        const result = yield* Effect.result(execute(Edit.tool, { path: "file", edits }))
        const wanted = expected(file, edits)
        const seen = { n, file: file.toString("latin1"), edits }
        expect({ ...seen, edited: Result.isSuccess(result) }).toEqual({ ...seen, edited: wanted !== undefined })
        const bytes = readFileSync(path)
        if (!bytes.equals(wanted?.bytes ?? file)) {
          expect({ ...seen, bytes: bytes.toString("latin1") }).toEqual({
            ...seen,
            bytes: (wanted?.bytes ?? file).toString("latin1")
          })
        }
        if (Result.isFailure(result)) counts.refused++
        else {
          expect({ ...seen, details: result.success.details }).toMatchObject({
            ...seen,
            details: { matches: wanted!.levels }
          })
          for (const level of wanted!.levels) counts[level]++
          if (edits.length > 1) counts.several++
          if (edits.some((edit) => edit.all)) counts.all++
          if (file.toString("utf8").includes("\ufffd")) counts.notUtf8++
          if (file.toString("utf8").startsWith("\ufeff")) counts.bom++
        }
      }
      expect(readdirSync(root)).toEqual(["file"])
      // What was compared, so that a generator that has gone dull is noticed.
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100)
      console.log(`edited and refused: ${JSON.stringify(counts)}`)
    }).pipe(
      withoutSync,
      // The files change under its hands: what was seen of them is not to be remembered.
      (test) => Effect.flatMap(folder(), (root) => within(root, { checkChanges: false })(test)),
      Effect.provide(services)
    ),
  120_000
)
