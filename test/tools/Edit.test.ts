import { describe, expect, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as Loop from "../../src/Loop.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import * as Bash from "../../src/tools/Bash.ts"
import * as Edit from "../../src/tools/Edit.ts"
import * as Read from "../../src/tools/Read.ts"
import * as Write from "../../src/tools/Write.ts"
import { call, model, say, user } from "../support/make.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

type One = (typeof Edit.tool.schema.Type)["edits"][number]

const edit = (path: string, ...edits: ReadonlyArray<One>) => execute(Edit.tool, { path, edits })
const refused = (path: string, ...edits: ReadonlyArray<One>) => failureOf(Edit.tool, { path, edits })

/** Edits a file of this content, and gives the result and the bytes afterwards. */
const edited = Effect.fnUntraced(function* (content: string | Uint8Array, ...edits: ReadonlyArray<One>) {
  const root = yield* folder({ file: content })
  const result = yield* within(root)(edit("file", ...edits))
  return { result, bytes: fs.readFileSync(`${root}/file`), text: textOf(result) }
})

/** The failure of an edit that must leave the file as it was. */
const refusal = Effect.fnUntraced(function* (content: string | Uint8Array, ...edits: ReadonlyArray<One>) {
  const root = yield* folder({ file: content })
  const message = yield* within(root)(refused("file", ...edits))
  expect(fs.readFileSync(`${root}/file`)).toEqual(Buffer.from(content))
  return message
})

layer(services, { excludeTestServices: true })("edit", (it) => {
  describe("bytes", () => {
    it.effect("only what is replaced changes: line endings, byte order mark and what is no text stay", () =>
      Effect.gen(function* () {
        const cases: ReadonlyArray<readonly [string, string, string, string]> = [
          ["a\r\nb\nc", "c", "d", "a\r\nb\nd"],
          ["\ufeffa\r\nb\r\n", "a", "x", "\ufeffx\r\nb\r\n"],
          ["a\rb\rc", "b", "x", "a\rx\rc"],
          ["a\n\tb  \n", "b", "x", "a\n\tx  \n"],
          ["日本😀\n", "本", "x", "日x😀\n"],
          ["no end", "end", "END", "no END"],
          ["a\n", "a\n", "", ""]
        ]
        for (const [content, oldText, newText, after] of cases) {
          const { bytes } = yield* edited(content, { oldText, newText })
          expect([content, bytes.toString("utf8")]).toEqual([content, after])
        }
        const latin1 = Buffer.from("caf\xe9 = 1\nx = \xff\xfe\n", "latin1")
        const { bytes } = yield* edited(latin1, { oldText: " = 1", newText: " = 2" })
        expect(bytes.toString("latin1")).toBe("caf\xe9 = 2\nx = \xff\xfe\n")
      })
    )

    it.effect("new lines get the line endings of the place that they come to", () =>
      Effect.gen(function* () {
        const cases: ReadonlyArray<readonly [string, string, string, string]> = [
          ["a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"],
          ["a\r\nb", "b", "b\nc", "a\r\nb\r\nc"],
          ["a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n"],
          ["a\nb\r\nc\n", "c", "x\ny", "a\nb\r\nx\ny\n"],
          ["a", "a", "x\ny", "x\ny"],
          // A CR that the model writes itself is what it says.
          ["a\nb\n", "a", "x\r\ny", "x\r\ny\nb\n"],
          ["a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"],
          // Half a line ending is none: the CR goes along.
          ["a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"],
          ["a\r\nb\r\n", "\nb", " c", "a c\r\n"]
        ]
        for (const [content, oldText, newText, after] of cases) {
          const { bytes } = yield* edited(content, { oldText, newText })
          expect([content, bytes.toString("utf8")]).toEqual([content, after])
        }
      })
    )

    it.effect("a replacement is literal, whatever it means in a regular expression", () =>
      Effect.gen(function* () {
        for (const newText of ["$&", "$1", "$`", "$'", "$$", "\\n", "$<name>"]) {
          expect((yield* edited("a (b) c\n", { oldText: "(b)", newText })).bytes.toString()).toBe(`a ${newText} c\n`)
        }
        expect((yield* edited("a.c abc\n", { oldText: "a.c", newText: "x" })).bytes.toString()).toBe("x abc\n")
      })
    )
  })

  describe("what is found", () => {
    it.effect("several edits are made against the file as it was, in any order, and all or none", () =>
      Effect.gen(function* () {
        const swap = [
          { oldText: "c", newText: "a" },
          { oldText: "a", newText: "c" }
        ]
        expect((yield* edited("a b c", ...swap)).bytes.toString()).toBe("c b a")
        expect(yield* refusal("a b c", { oldText: "a", newText: "x" }, { oldText: "z", newText: "y" })).toMatch(
          /^file was not edited\. Edit 2: oldText is not in the file/
        )
        const overlap = [
          { oldText: "b c", newText: "x" },
          { oldText: "a b", newText: "y" }
        ]
        expect(yield* refusal("a b c", ...overlap)).toBe(
          "file was not edited. Edits 1 and 2 overlap: make one of them."
        )
        const adjacent = [
          { oldText: "ab", newText: "1" },
          { oldText: "cd", newText: "2" }
        ]
        expect((yield* edited("abcd", ...adjacent)).bytes.toString()).toBe("12")
      })
    )

    it.effect("what occurs more than once is refused with its lines, or replaced everywhere if all is set", () =>
      Effect.gen(function* () {
        expect(yield* refusal("x\ny\nx\n", { oldText: "x", newText: "z" })).toBe(
          "file was not edited. oldText is in the file 2 times (lines 1, 3). Give more of the text around it, or set all."
        )
        expect(yield* refusal("aaa", { oldText: "aa", newText: "b" })).toContain("2 times")
        expect(yield* refusal("x\n".repeat(50), { oldText: "x", newText: "z" })).toContain(
          "more than 10 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"
        )
        // In some of the places only half of a line ending would be meant.
        expect(yield* refusal("a\nx\r\nx", { oldText: "\nx", newText: "\ny" })).toContain("2 times")
        const all = yield* edited("x\ny\nxx\n", { oldText: "x", newText: "z", all: true })
        expect(all.bytes.toString()).toBe("z\ny\nzz\n")
        expect(all.text).toBe("Edited file: 3 replacements (lines 1, 3, 3), 2 lines added and 2 removed.")
        const many = "x ".repeat(100_001)
        expect(yield* refusal(many, { oldText: "x", newText: "z", all: true })).toContain("more than 100,000 times")
      })
    )

    it.effect("line endings that differ are ignored, and the result says so", () =>
      Effect.gen(function* () {
        const { bytes, result, text } = yield* edited("a\r\nb\r\nc\r\n", { oldText: "a\nb\n", newText: "x\ny\n" })
        expect(bytes.toString()).toBe("x\r\ny\r\nc\r\n")
        expect(text).toBe(
          "Edited file: 1 replacement (line 1), 2 lines added and 2 removed. oldText was found with line endings ignored."
        )
        expect(result.details).toMatchObject({ matches: ["lineEndings"] })
        expect((yield* edited("a\nb\n", { oldText: "a\r\nb", newText: "x\r\ny" })).bytes.toString()).toBe("x\ny\n")
        const all = yield* edited("a\r\nb\r\na\r\nb\r\n", { oldText: "a\nb", newText: "c", all: true })
        expect(all.bytes.toString()).toBe("c\r\nc\r\n")
      })
    )

    it.effect(
      "blanks at the ends of lines and typographic quotes are ignored if that is unique, and the result says so",
      () =>
        Effect.gen(function* () {
          const cases: ReadonlyArray<readonly [string, string, string, string]> = [
            ["if (x) {  \n\ty()\n}\n", "if (x) {\n\ty()", "z()", "z()\n}\n"],
            ["say “hi”\n", 'say "hi"', "say nothing", "say nothing\n"],
            ["it's\n", "it’s", "it is", "it is\n"],
            ["a\nb \t\nc", "a\nb", "x\ny", "x\ny \t\nc"],
            ["a\nb\n", "a  \nb  ", "x", "x\n"],
            ["a\nb \t\n", "a  \nb  ", "x", "x\n"]
          ]
          for (const [content, oldText, newText, after] of cases) {
            const { bytes, result, text } = yield* edited(content, { oldText, newText })
            expect([content, bytes.toString()]).toEqual([content, after])
            // The fourth is as it is in the file.
            if (content.startsWith("a\nb \t\nc")) continue
            expect(text).toContain("blanks at the ends of lines, typographic quotes and line endings ignored.")
            expect(result.details).toMatchObject({ matches: ["blanksAndQuotes"] })
          }
          for (const all of [false, true]) {
            expect(yield* refusal("“a”\n„a“\n", { oldText: '"a"', newText: "b", all })).toBe(
              "file was not edited. oldText is not in the file as it is, and 2 places are like it (lines 1, 2). " +
                "Copy it exactly from the file, with more of the text around it."
            )
          }
          // Blanks that count: not at the end of a line, or before more text.
          for (const oldText of ["a  b", "a ", " a"]) {
            expect(yield* refusal("a b\na\tc\n", { oldText: `${oldText}!`, newText: "" })).toContain(
              "is not in the file"
            )
          }
          expect(yield* refusal("foobar\n", { oldText: "foo ", newText: "x" })).toContain("is not in the file")
        })
    )

    it.effect("what is not there at all is refused with the nearest text", () =>
      Effect.gen(function* () {
        const source = [
          'import { a } from "./a.ts"',
          "",
          "export const total = (items) => {",
          "    return items.reduce((sum, item) => sum + item.price, 0)",
          "}",
          "",
          "export const count = (items) => items.length",
          ""
        ].join("\n")
        const missing = (oldText: string) => refusal(source, { oldText, newText: "" })
        expect(
          yield* missing(
            "export const total = (items) => {\n  return items.reduce((sum, item) => sum + item.cost, 0)\n}"
          )
        ).toBe(
          "file was not edited. oldText is not in the file. The nearest text is (lines 3-5):\n" +
            source.split("\n").slice(2, 5).join("\n")
        )
        expect(
          yield* missing(
            "export const total = (items) => {\n\treturn items.reduce((sum, item) => sum + item.price, 0)\n}"
          )
        ).toBe(
          "file was not edited. oldText is not in the file. Only blanks are different. " +
            `The nearest text is (lines 3-5):\n${source.split("\n").slice(2, 5).join("\n")}`
        )
        expect(yield* missing("EXPORT const count = (items)  => items.length")).toContain("(line 7)")
        expect(yield* missing("Export const count = (items) => items.length")).toContain(
          "Only upper and lower case are different."
        )
        expect(yield* missing("zzz qqq www")).toBe(
          "file was not edited. oldText is not in the file, and nothing in it is like it. Read the file again."
        )
        expect(yield* refusal("", { oldText: "a", newText: "b" })).toContain("nothing in it is like it")
        const long = yield* refusal(`${"word ".repeat(10_000)}\n`.repeat(50), {
          oldText: `${"word ".repeat(9000)}x\n`.repeat(30),
          newText: ""
        })
        expect(long).toContain("\n… and 10 more lines")
        expect(long.length).toBeLessThan(5000)
      })
    )

    it.effect("edits that change nothing, or have nothing to look for, are refused", () =>
      Effect.gen(function* () {
        expect(yield* refusal("a", { oldText: "a", newText: "a" })).toBe(
          "file was not edited. oldText and newText are the same, so there is nothing to change."
        )
        expect(yield* refusal("a", { oldText: "", newText: "a" })).toContain("oldText is empty.")
        expect(yield* refusal("a \nb", { oldText: "a\nb", newText: "a \nb" })).toBe(
          "file was not edited: the edits change nothing in it."
        )
        // A half of a character is none.
        expect(yield* refusal("😀", { oldText: "\ud83d", newText: "x" })).toContain("is not in the file")
      })
    )
  })

  describe("results", () => {
    it.effect("are a summary for the model, and a diff and counts for others", () =>
      Effect.gen(function* () {
        const content = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join("")
        const { result, text } = yield* edited(
          content,
          { oldText: "line 12\n", newText: "" },
          { oldText: "line 3", newText: "line three\nand more" }
        )
        expect(text).toBe("Edited file: 2 replacements (lines 3, 12), 2 lines added and 2 removed.")
        expect(result.details).toEqual({
          replacements: 2,
          matches: ["exact", "exact"],
          added: 2,
          removed: 2,
          diff: [
            "--- file\n+++ file\n@@ -1,6 +1,7 @@\n line 1\n line 2\n-line 3\n+line three\n+and more\n line 4\n line 5\n line 6\n",
            "@@ -9,7 +10,6 @@\n line 9\n line 10\n line 11\n-line 12\n line 13\n line 14\n line 15\n"
          ].join("")
        })
      })
    )

    it.effect("a diff that is very long is cut, and that is said", () =>
      Effect.gen(function* () {
        const { result } = yield* edited(`${"x".repeat(100)}\n`.repeat(2000), {
          oldText: "xxxxxxxxxx",
          newText: "😀",
          all: true
        })
        const { diff, diffTruncated } = result.details as { readonly diff: string; readonly diffTruncated: boolean }
        expect([diff.length, diffTruncated, diff.isWellFormed()]).toEqual([64 * 1024, true, true])
      })
    )

    it.effect("one edit may stand beside the path, as in other tools", () =>
      Effect.sync(() => {
        const decode = Schema.decodeUnknownOption(Edit.tool.schema)
        const prepare = (args: Schema.Json) => Option.getOrUndefined(decode(Edit.tool.prepareArguments!(args)))
        const edits = [{ oldText: "a", newText: "b" }]
        expect(prepare({ path: "x", oldText: "a", newText: "b" })).toEqual({ path: "x", edits })
        expect(prepare({ path: "x", edits })).toEqual({ path: "x", edits })
        for (const args of [{ path: "x", edits: [] }, { path: "x" }, [], null, "x"]) {
          expect(prepare(args)).toBeUndefined()
        }
      })
    )
  })

  describe("what cannot be edited", () => {
    const change = { oldText: "a", newText: "b" }

    it.effect("folders, what is not there, binary files and very large ones are named", () =>
      Effect.gen(function* () {
        const root = yield* folder({
          "sub/x": "",
          binary: "a\0b",
          utf16: Buffer.from("\ufeffa", "utf16le"),
          "a.pdf": "%PDF-1 a"
        })
        fs.writeFileSync(`${root}/large`, "a")
        fs.truncateSync(`${root}/large`, Edit.MAX_BYTES + 1)
        yield* within(root)(
          Effect.gen(function* () {
            expect(yield* refused("sub", change)).toContain("sub is a folder")
            expect(yield* refused("none", change)).toBe(
              "Cannot edit none: there is no such file. Use write to create it."
            )
            expect(yield* refused("binary", change)).toBe(
              "binary is a binary file, which cannot be edited. Use bash for it."
            )
            expect(yield* refused("utf16", change)).toContain("utf16 is a text in UTF-16")
            expect(yield* refused("a.pdf", change)).toContain("a.pdf is a PDF")
            expect(yield* refused("large", change)).toBe(
              "large has 8,388,609 bytes; files of at most 8,388,608 can be edited. Use bash for it."
            )
          })
        )
      })
    )

    it.effect("a file that somebody has changed since it was read, written or edited; own changes are known", () =>
      Effect.gen(function* () {
        const root = yield* folder({ file: "a\nb\nc\n" })
        yield* within(root)(
          Effect.gen(function* () {
            yield* execute(Read.tool, { path: "file" })
            yield* edit("file", change)
            yield* edit("file", { oldText: "b\nb", newText: "a\nb" })
            yield* execute(Bash.tool, { command: "echo d >> file" })
            expect(yield* refused("file", change)).toBe(
              "file has changed on disk since you last read or wrote it, so it was not edited. Read it again first. " +
                "What has changed:\n@@ -3 +3,2 @@\n c\n+d"
            )
            yield* execute(Read.tool, { path: "file", limit: 1 })
            yield* edit("file", change)
            yield* execute(Write.tool, { path: "file", content: "a\n" })
            yield* edit("file", change)
          })
        )
        expect(fs.readFileSync(`${root}/file`, "utf8")).toBe("b\n")
      })
    )
  })

  describe("in one batch", () => {
    const runOf = (...calls: ReadonlyArray<ReturnType<typeof call>>) =>
      TraceChecker.collect(Loop.run({ model, prompts: [user("go")], tools: [Edit.tool, Write.tool] })).pipe(
        Effect.provide(Scripted.layer({ turns: [calls, [say("ok")]] }))
      )

    const editing = (path: string, oldText: string, newText: string, id: string) =>
      call("edit", { path, edits: [{ oldText, newText }] }, id)

    it.effect("edits and writes of one file come one after the other, in source order, by whatever path", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "sub/file": "a b c d" })
        fs.symlinkSync("sub/file", `${root}/link`)
        fs.symlinkSync("sub", `${root}/folder`)
        yield* within(root)(
          runOf(
            editing("sub/file", "a", "1", "1"),
            editing("link", "b", "2", "2"),
            editing("folder/../sub/./file", "1 2", "x y", "3"),
            editing(`${root}/folder/file`, "y c", "z", "4")
          )
        )
        expect(fs.readFileSync(`${root}/sub/file`, "utf8")).toBe("x z d")
        yield* within(root)(
          runOf(
            call("write", { path: "new/file", content: "a" }, "1"),
            editing("new/file", "a", "b", "2"),
            call("write", { path: "new/../new/file", content: "c" }, "3"),
            editing("new/file", "c", "d", "4")
          )
        )
        expect(fs.readFileSync(`${root}/new/file`, "utf8")).toBe("d")
      })
    )

    it.effect("edits of different files overlap in time", () =>
      Effect.gen(function* () {
        const root = yield* folder({ a: "1", b: "1" })
        const both = yield* Deferred.make<void>()
        let opened = 0
        const meeting = Effect.updateService(FileSystem.FileSystem, (real) => ({
          ...real,
          open: (...args: Parameters<typeof real.open>) =>
            Effect.andThen(
              ++opened === 2 ? Deferred.succeed(both, undefined) : Deferred.await(both),
              real.open(...args)
            )
        }))
        yield* within(root)(meeting(runOf(editing("a", "1", "2", "1"), editing("b", "1", "2", "2"))))
        expect([fs.readFileSync(`${root}/a`, "utf8"), fs.readFileSync(`${root}/b`, "utf8")]).toEqual(["2", "2"])
      })
    )
  })
})
