// Read, write and edit beside the tools of the Anthropic SDK, on generated inputs. Where they differ, a line of the tables
// says why; where no line applies they must do the same, and each line must be seen to apply.
import {
  type AgentToolContext,
  betaEditTool,
  betaReadTool,
  betaWriteTool
} from "@anthropic-ai/sdk/tools/agent-toolset/node"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as fs from "node:fs"
import type * as Tool from "../../src/Tool.ts"
import * as Edit from "../../src/tools/Edit.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Write from "../../src/tools/Write.ts"
import { type Edit as One, expected } from "./editOracle.ts"
import { makeEdits, makeFile, makeRandom, type Random, withoutSync } from "./generated.ts"
import { execute, folder, services, textOf, within } from "./support.ts"

/** In milliseconds; the SDK forces each file to the disk. */
const TIMEOUT = 60_000

/** What a call gave: a text, or nothing if it was refused. */
type Outcome = string | undefined

const sdk = (run: () => unknown): Effect.Effect<Outcome> =>
  Effect.tryPromise(async () => String(await run())).pipe(Effect.orElseSucceed(() => undefined))

const ours = <R>(call: Effect.Effect<Tool.ToolResult, Tool.ToolFailure, R>): Effect.Effect<Outcome, never, R> =>
  Effect.map(Effect.result(call), (result) => (Result.isSuccess(result) ? textOf(result.success) : undefined))

/** Runs in a folder for each side, with tools that remember nothing of files that change under their hands. */
const sideBySide = <E, R>(test: (mine: string, theirs: string) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const [mine, theirs] = [yield* folder(), yield* folder()]
    yield* within(mine, { checkChanges: false })(test(mine, theirs))
  }).pipe(withoutSync, Effect.provide(services))

/** The lines of a table that apply, counted. */
const makeTable = <Case>(table: Record<string, (one: Case) => boolean>) => {
  const seen: Record<string, number> = Object.fromEntries(Object.keys(table).map((name) => [name, 0]))
  return {
    reasons: (one: Case) => {
      const names = Object.keys(table).filter((name) => table[name]!(one))
      for (const name of names) seen[name]!++
      return names
    },
    check: () => {
      for (const [name, count] of Object.entries(seen)) expect([name, count > 0]).toEqual([name, true])
      console.log(JSON.stringify(seen))
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Read
// ---------------------------------------------------------------------------------------------------------------------

interface ReadCase {
  readonly file: Buffer
  readonly first: number
  readonly last: number
}

const readCase = (random: Random): ReadCase => {
  const kind = random.below(40)
  const file =
    kind === 0
      ? Buffer.from("x\n".repeat(3000))
      : kind === 1
        ? Buffer.from(`${"é".repeat(3000)}\nb\n`)
        : kind === 2
          ? Buffer.from("a\n\0\nb")
          : kind === 3
            ? Buffer.from("%PDF-1.7\n")
            : kind === 4
              ? Buffer.from("")
              : makeFile(random)
  const first = 1 + random.below(4)
  return { file, first, last: first + random.below(5) }
}

const textIn = ({ file }: ReadCase) => file.toString("utf8")
const linesIn = (one: ReadCase) => textIn(one).replace(/\n$/, "").split("\n")

/** What the reader of the SDK gives becomes what ours gives, step by step; each step says why. */
const readSteps: ReadonlyArray<{
  readonly why: string
  readonly applies: (one: ReadCase) => boolean
  readonly change: (outcome: Outcome, one: ReadCase) => Outcome
}> = [
  {
    why: "a binary file or a PDF is named, since its bytes as text say nothing",
    applies: ({ file }) => file.includes(0) || file.toString().startsWith("%PDF-"),
    change: () => undefined
  },
  {
    why: "an offset past the end is a failure that says how long the file is, not an empty answer",
    applies: (one) => one.first > 1 && one.first > (textIn(one) === "" ? 0 : linesIn(one).length),
    change: () => undefined
  },
  {
    why: "a line ends with LF: after the last one there is no further, empty line",
    applies: ({ last, ...one }) => textIn({ ...one, last }).endsWith("\n") && last > linesIn({ ...one, last }).length,
    change: (outcome) => outcome?.replace(/\n$/, "")
  },
  {
    why: "CR LF is shown as LF, with a note",
    applies: ({ file }) => file.includes("\r\n"),
    change: (outcome, one) =>
      // The SDK splits at LF, so that the last line of a range has lost its LF and kept its CR.
      outcome
        ?.split("\n")
        .map((line, index, all) =>
          index < all.length - 1 || one.first + index < linesIn(one).length || textIn(one).endsWith("\n")
            ? line.replace(/\r$/, "")
            : line
        )
        .join("\n")
  },
  {
    why: "a byte order mark is no part of the text",
    applies: ({ file, first }) => first === 1 && file.toString().startsWith("\ufeff"),
    change: (outcome) => outcome?.replace(/^\ufeff/, "")
  },
  {
    why: "a long line is cut, and that is said",
    applies: (one) => linesIn(one).some((line) => Buffer.byteLength(line) > Read.MAX_LINE_BYTES),
    change: (outcome) =>
      outcome
        ?.split("\n")
        .map((line) => (Buffer.byteLength(line) > 4000 ? `${"é".repeat(2000)}… [cut after 4000 bytes]` : line))
        .join("\n")
  },
  {
    why: "what has nothing to see in it is described: providers refuse an answer of blanks only",
    applies: (one) =>
      linesIn(one)
        .slice(one.first - 1, one.last)
        .join("\n")
        .trim() === "",
    change: (outcome, one) =>
      outcome === undefined || outcome.trim() !== "" ? outcome : textIn(one) === "" ? "(empty file)" : "(blank)"
  }
]

it.live(
  "a file is read as the SDK reads it, but for what the table says",
  () =>
    sideBySide((mine, theirs) =>
      Effect.gen(function* () {
        const random = makeRandom(11)
        const table = makeTable(Object.fromEntries(readSteps.map(({ applies, why }) => [why, applies])))
        const read = betaReadTool({ workdir: theirs } satisfies AgentToolContext)
        for (let n = 0; n < 1000; n++) {
          const one = readCase(random)
          for (const root of [mine, theirs]) fs.writeFileSync(`${root}/file`, one.file)
          const { first, last } = one
          const given = yield* ours(execute(Read.tool, { path: "file", offset: first, limit: last - first + 1 }))
          const other = yield* sdk(() => read.run({ file_path: "file", view_range: [first, last] }))
          table.reasons(one)
          const predicted = readSteps.reduce(
            (outcome, { applies, change }) => (applies(one) ? change(outcome, one) : outcome),
            other
          )
          // Notes come after the text, in brackets.
          const shown = given?.replace(/\n\n\[[^\n]*\]$/, "").replace(/^\(\d+ blank lines?\)$/, "(blank)")
          const seen = { n, file: one.file.toString("latin1").slice(0, 300), first, last }
          expect({ ...seen, shown }).toEqual({ ...seen, shown: predicted })
        }
        table.check()
      })
    ),
  TIMEOUT
)

// ---------------------------------------------------------------------------------------------------------------------
// Write
// ---------------------------------------------------------------------------------------------------------------------

interface WriteCase {
  readonly path: string
  readonly content: string
}

const writeTable: Record<string, (one: WriteCase) => boolean> = {
  "secrets and the .git folder are not written": ({ path }) => /(^|\/)\.(env|git)(\/|$)/i.test(path),
  "~ is not taken for the name of a folder": ({ path }) => path.startsWith("~/")
}

it.live(
  "a file is written as the SDK writes it, but for what the table says",
  () =>
    sideBySide((mine, theirs) =>
      Effect.gen(function* () {
        const random = makeRandom(12)
        const table = makeTable(writeTable)
        const write = betaWriteTool({ workdir: theirs })
        const paths = [
          "a",
          "b/c",
          "b/../d",
          "./e/f/g",
          "link",
          "dangling",
          "../x",
          "/etc/x",
          "a/b",
          "b",
          ".",
          ".env",
          ".git/x",
          "~/x"
        ]
        for (const root of [mine, theirs]) {
          fs.symlinkSync("b/c", `${root}/link`)
          fs.symlinkSync("new/file", `${root}/dangling`)
        }
        for (let n = 0; n < 500; n++) {
          const one = {
            path: random.one(paths),
            content: makeFile(random).toString("utf8") + random.one(["", "\0", "\ud800"])
          }
          const given = yield* ours(execute(Write.tool, one))
          const other = yield* sdk(() => write.run({ file_path: one.path, content: one.content }))
          const reasons = table.reasons(one)
          expect({ n, one, isWritten: given !== undefined }).toEqual({
            n,
            one,
            isWritten: reasons.length === 0 && other !== undefined
          })
          if (given === undefined) continue
          const bytes = fs.readFileSync(`${mine}/${one.path}`)
          expect(bytes).toEqual(fs.readFileSync(`${theirs}/${one.path}`))
          expect(bytes).toEqual(Buffer.from(one.content))
        }
        table.check()
        // New files have the usual permissions, and not those of a private file: they are the user's, as if she wrote them.
        const modes = [mine, theirs].map((root) => fs.statSync(`${root}/a`).mode & 0o777)
        expect(modes).toEqual([0o666 & ~process.umask(), 0o600])
        for (const root of [mine, theirs]) fs.chmodSync(`${root}/a`, 0o751)
        yield* ours(execute(Write.tool, { path: "a", content: "kept" }))
        yield* sdk(() => write.run({ file_path: "a", content: "kept" }))
        for (const root of [mine, theirs]) expect(fs.statSync(`${root}/a`).mode & 0o777).toBe(0o751)
      })
    ),
  TIMEOUT
)

// ---------------------------------------------------------------------------------------------------------------------
// Edit
// ---------------------------------------------------------------------------------------------------------------------

interface EditCase extends One {
  readonly file: Buffer
}

const levelOf = ({ file, ...edit }: EditCase) => expected(file, [edit])?.levels[0]
const countIn = (text: string, part: string) => (part === "" ? 0 : text.split(part).length - 1)

const editTable: Record<string, (one: EditCase) => boolean> = {
  "line endings that differ are ignored": (one) => levelOf(one) === "lineEndings",
  "blanks at the ends of lines and typographic quotes are ignored if that is unique": (one) =>
    levelOf(one) === "blanksAndQuotes",
  "new lines get the line endings of the file": ({ file, newText, oldText }) =>
    file.includes("\r\n") && /(?<!\r)\n/.test(newText) && !/\r/.test(oldText + newText),
  "half of a line ending is not left over": ({ file, oldText }) =>
    oldText.startsWith("\n") && file.includes(`\r${oldText}`),
  "bytes that are not UTF-8 stay": ({ file }) => file.toString("utf8").includes("\ufffd"),
  "what changes nothing is refused": ({ newText, oldText }) => oldText === newText,
  "of places that overlap nobody can say which is meant": ({ file, oldText }) => {
    const text = file.toString("utf8")
    return countIn(text, oldText) === 1 && text.indexOf(oldText) !== text.lastIndexOf(oldText)
  },
  "a file with NUL is no text": ({ file }) => file.includes(0)
}

it.live(
  "a file is edited as the SDK edits it, but for what the table says",
  () =>
    sideBySide((mine, theirs) =>
      Effect.gen(function* () {
        const random = makeRandom(13)
        const table = makeTable(editTable)
        const editTool = betaEditTool({ workdir: theirs })
        const counts = { same: 0, different: 0, edited: 0 }
        for (let n = 0; n < 1200; n++) {
          const plain = makeFile(random)
          const file = random.chance(2) ? Buffer.concat([plain, Buffer.of(0)]) : plain
          const [edit] = makeEdits(random, file)
          const { all = false, newText, oldText } = edit!
          for (const root of [mine, theirs]) fs.writeFileSync(`${root}/file`, file)
          const given = yield* ours(execute(Edit.tool, { path: "file", edits: [edit!] }))
          const other = yield* sdk(() =>
            editTool.run({ file_path: "file", old_string: oldText, new_string: newText, replace_all: all })
          )
          const [here, there] = [mine, theirs].map((root) => fs.readFileSync(`${root}/file`))
          const isSame = here!.equals(there!) && (given === undefined) === (other === undefined)
          counts[isSame ? "same" : "different"]++
          if (given !== undefined) counts.edited++
          if (isSame) continue
          const seen = {
            n,
            file: file.toString("latin1"),
            edit,
            here: here!.toString("latin1"),
            there: there!.toString("latin1")
          }
          expect({ ...seen, reasons: table.reasons({ file, ...edit! }) }).toEqual({
            ...seen,
            reasons: expect.arrayContaining([expect.any(String)])
          })
        }
        for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100)
        table.check()
      })
    ),
  TIMEOUT
)
