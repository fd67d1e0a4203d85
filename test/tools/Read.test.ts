import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { spawnSync } from "node:child_process"
import * as Read from "../../src/tools/Read.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

const read = (params: { readonly path: string; readonly offset?: number; readonly limit?: number }) =>
  execute(Read.tool, params)

/** Reads a file of this content. */
const readContent = Effect.fnUntraced(function* (
  content: string | Uint8Array,
  page: { readonly offset?: number; readonly limit?: number } = {}
) {
  return yield* within(yield* folder({ file: content }))(read({ path: "file", ...page }))
})

/** Files that give the same chunk at each read, at most `times`, and then an end. */
const counting = Effect.fnUntraced(function* (chunk: Option.Option<Uint8Array>, times = Infinity, end = "") {
  const fs = yield* FileSystem.FileSystem
  let reads = 0
  const next = () => {
    reads++
    if (reads <= times) return chunk
    return reads === times + 1 && end !== "" ? Option.some(Buffer.from(end)) : Option.none()
  }
  const open: FileSystem.FileSystem["open"] = (path, options) =>
    Effect.map(fs.open(path, options), (file) => ({ ...file, readAlloc: () => Effect.sync(next) }))
  return { layer: Layer.succeed(FileSystem.FileSystem, { ...fs, open }), reads: () => reads }
})

const numbered = (lines: number) => Array.from({ length: lines }, (_, i) => `line ${i + 1}`).join("\n")

layer(services, { excludeTestServices: true })("read", (it) => {
  describe("text", () => {
    it.effect("a short file is given as it is", () =>
      Effect.gen(function* () {
        const result = yield* readContent("one\n\n  two\tthree\n")
        expect(textOf(result)).toBe("one\n\n  two\tthree")
        expect(result.details).toEqual({ offset: 1, lines: 3, truncated: false, totalLines: 3 })
      })
    )

    it.effect("a page of lines says from where to read on, and the last page that it is the last", () =>
      Effect.gen(function* () {
        const first = yield* readContent(numbered(10), { limit: 4 })
        expect(textOf(first)).toBe(
          "line 1\nline 2\nline 3\nline 4\n\n[Lines 1-4. The file goes on: use offset 5 to read on.]"
        )
        expect(first.details).toEqual({ offset: 1, lines: 4, truncated: true, nextOffset: 5 })

        const last = yield* readContent(numbered(10), { offset: 9, limit: 4 })
        expect(textOf(last)).toBe("line 9\nline 10\n\n[Lines 9-10, the end of the file.]")
        expect(last.details).toEqual({ offset: 9, lines: 2, truncated: false, totalLines: 10 })
      })
    )

    it.effect("a page that ends with the file does not claim that there is more", () =>
      Effect.gen(function* () {
        for (const content of ["a\nb", "a\nb\n"]) {
          expect((yield* readContent(content, { limit: 2 })).details).toMatchObject({ truncated: false, totalLines: 2 })
        }
        // The limit and the end of the first chunk coincide: the next chunk has to be looked at.
        const chunk = `${"x".repeat(255)}\n`.repeat(1024)
        const ends = yield* readContent(chunk, { offset: 1024, limit: 1 })
        expect(ends.details).toMatchObject({ truncated: false, totalLines: 1024 })
        const goesOn = yield* readContent(`${chunk}y`, { offset: 1024, limit: 1 })
        expect(goesOn.details).toMatchObject({ truncated: true, nextOffset: 1025 })
      })
    )

    it.effect("an offset past the end is a failure that says how long the file is", () =>
      Effect.gen(function* () {
        const path = yield* folder({ two: "a\nb\n", empty: "" })
        const failed = (file: string, offset: number) => within(path)(failureOf(Read.tool, { path: file, offset }))
        expect(yield* failed("two", 3)).toBe("Offset 3 is past the end: two has 2 lines.")
        expect(yield* failed("empty", 2)).toBe("Offset 2 is past the end: empty has 0 lines.")
        expect(textOf(yield* within(path)(read({ path: "two", offset: 2 })))).toMatch(/^b\n/)
      })
    )

    it.effect("an empty file and one of blanks are described", () =>
      Effect.gen(function* () {
        expect(textOf(yield* readContent(""))).toBe("(empty file)")
        expect(textOf(yield* readContent(" \n\t\n\n"))).toBe("(3 blank lines)")
        expect(textOf(yield* readContent("\ufeff\n"))).toBe("(1 blank line)")
      })
    )

    it.effect(`at most ${Read.MAX_LINES} lines and ${Read.MAX_BYTES} bytes are given, always whole lines`, () =>
      Effect.gen(function* () {
        const lines = yield* readContent(`${numbered(3000)}\n`)
        expect(lines.details).toMatchObject({ lines: Read.MAX_LINES, nextOffset: 2001 })

        const wide = yield* readContent(`${"é".repeat(499)}\n`.repeat(100))
        expect(wide.details).toMatchObject({ lines: 51, nextOffset: 52 })
        const body = textOf(wide).split("\n\n[")[0]!
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(Read.MAX_BYTES)
        expect(new Set(body.split("\n"))).toEqual(new Set(["é".repeat(499)]))
      })
    )

    it.effect("a long line is cut where it is seen, between characters", () =>
      Effect.gen(function* () {
        for (const [char, bytes] of [
          ["x", 1],
          ["é", 2],
          ["€", 3],
          ["😀", 4]
        ] as const) {
          for (const shift of [0, 1, 2, 3]) {
            const text = textOf(yield* readContent(`${"-".repeat(shift)}${char.repeat(5000)}\nnext\n`))
            const [line, next] = text.split("\n")
            const whole = Math.floor((Read.MAX_LINE_BYTES - shift) / bytes)
            expect(line).toBe(`${"-".repeat(shift)}${char.repeat(whole)}… [cut after 4000 bytes]`)
            expect(next).toBe("next")
          }
        }
      })
    )

    it.effect("a character that is split over two reads arrives whole", () =>
      Effect.gen(function* () {
        // Chunks are 256 KiB: the four bytes of the character lie on both sides of the border.
        for (const before of [1, 2, 3]) {
          const border = 256 * 1024
          const filler = `${"x".repeat(63)}\n`.repeat(border / 64 - 1)
          const content = `${filler}${"y".repeat(64 - before)}😀 end\n`
          const text = textOf(yield* readContent(content, { offset: border / 64 }))
          expect(text).toMatch(new RegExp(`^y{${64 - before}}😀 end\n`, "u"))
        }
      })
    )

    it.effect("CR LF ends a line and is told; a lone CR stays in its line; a byte order mark is left out", () =>
      Effect.gen(function* () {
        const crlf = yield* readContent("a\r\nb\r\n")
        expect(textOf(crlf)).toBe("a\nb\n\n[Lines end with CR LF.]")
        expect(textOf(yield* readContent("a\rb\nc\r"))).toBe("a\rb\nc\r")
        expect(textOf(yield* readContent("\ufeffa\n\ufeffb"))).toBe("a\n\ufeffb")
        // CR and LF on both sides of a border between chunks.
        const border = yield* readContent(`${"x".repeat(256 * 1024 - 1)}\r\nz`, { offset: 2 })
        expect(textOf(border)).toMatch(/^z\n/)
      })
    )

    it.effect("bytes that are not UTF-8 become replacement characters", () =>
      Effect.gen(function* () {
        expect(textOf(yield* readContent(Uint8Array.of(0x61, 0xff, 0x62)))).toBe("a\ufffdb")
      })
    )

    it.effect("a file of 2 GB is read in bounded memory up to where there is enough, and no further", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "the beginning of it" })
        const chunk = Buffer.from(`${"x".repeat(1023)}\n`.repeat(256))
        const reading = yield* counting(Option.some(chunk))
        const before = process.memoryUsage()
        const result = yield* Effect.provide(
          read({ path: `${path}/file`, offset: 2 * 1024 ** 2, limit: 2 }),
          reading.layer
        )
        expect(result.details).toEqual({ offset: 2097152, lines: 2, truncated: true, nextOffset: 2097154 })
        expect(reading.reads()).toBe((2 * 1024 ** 3) / chunk.length + 1)
        expect(process.memoryUsage().rss - before.rss).toBeLessThan(64 * 1024 ** 2)
      })
    )

    it.effect("the beginning of a next line is enough to know that there is one", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const reading = yield* counting(Option.some(Buffer.from(`a\n${"x".repeat(1000)}`)))
        const result = yield* Effect.provide(read({ path: `${path}/file`, limit: 1 }), reading.layer)
        expect(result.details).toMatchObject({ lines: 1, truncated: true, nextOffset: 2 })
        expect(reading.reads()).toBe(1)
      })
    )

    it.effect("a line of 200 MB is cut in bounded memory, and the line after it is found", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const reading = yield* counting(Option.some(Buffer.alloc(256 * 1024, "x")), 800, "\nnext\n")
        const before = process.memoryUsage()
        const result = yield* Effect.provide(read({ path: `${path}/file` }), reading.layer)
        expect(textOf(result)).toMatch(/^x{4000}… \[cut after 4000 bytes\]\nnext\n/)
        expect(process.memoryUsage().rss - before.rss).toBeLessThan(64 * 1024 ** 2)
      })
    )
  })

  describe("what is no text", () => {
    it.effect("a binary file is named as such, wherever its first NUL is", () =>
      Effect.gen(function* () {
        const path = yield* folder({
          start: Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0),
          late: `${"x\n".repeat(150_000)}\0`,
          utf16: Uint8Array.of(0xff, 0xfe, 0x61, 0)
        })
        for (const file of ["start", "utf16"]) {
          expect(yield* within(path)(failureOf(Read.tool, { path: file }))).toContain(`${file} is a binary file`)
        }
        const late = { path: "late", offset: 149_999 }
        expect(yield* within(path)(failureOf(Read.tool, late))).toContain("late is a binary file (300,001 bytes)")
      })
    )

    it.effect("images are known by their first bytes and come as images", () =>
      Effect.gen(function* () {
        const images = {
          "image/png": [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0xd],
          "image/jpeg": [0xff, 0xd8, 0xff, 0xe0, 0],
          "image/gif": [0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0],
          "image/webp": [0x52, 0x49, 0x46, 0x46, 1, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0]
        }
        for (const [mimeType, bytes] of Object.entries(images)) {
          const result = yield* readContent(Uint8Array.from(bytes))
          expect(result.content).toEqual([
            { type: "text", text: `${mimeType}, ${bytes.length} bytes` },
            { type: "image", mimeType, data: Buffer.from(bytes).toString("base64") }
          ])
        }
        // Sound, in the container that WebP has too.
        const wave = Uint8Array.from([0x52, 0x49, 0x46, 0x46, 1, 0, 0, 0, 0x57, 0x41, 0x56, 0x45, 0])
        expect(yield* within(yield* folder({ wave }))(failureOf(Read.tool, { path: "wave" }))).toContain("binary")
      })
    )

    it.effect("an image over the limit is refused with its size", () =>
      Effect.gen(function* () {
        const bytes = new Uint8Array(Read.MAX_IMAGE_BYTES + 1)
        bytes.set([0xff, 0xd8, 0xff])
        const path = yield* folder({ "big.jpg": bytes, "fits.jpg": bytes.subarray(0, Read.MAX_IMAGE_BYTES) })
        const failed = yield* within(path)(failureOf(Read.tool, { path: "big.jpg" }))
        expect(failed).toContain("3,670,017 bytes; at most 3,670,016")
        const fits = yield* within(path)(read({ path: "fits.jpg" }))
        expect(fits.details).toEqual({ mimeType: "image/jpeg", bytes: Read.MAX_IMAGE_BYTES })
      })
    )

    it.effect("a folder, a pipe, a device and a missing file are refused without being opened", () =>
      Effect.gen(function* () {
        const path = yield* folder()
        expect(spawnSync("mkfifo", [`${path}/pipe`]).status).toBe(0)
        const failed = (file: string) => within(path, { extraFolders: ["/dev"] })(failureOf(Read.tool, { path: file }))
        expect(yield* failed(".")).toBe(". is a folder, not a file. Use ls to list it, or read a file in it.")
        expect(yield* failed("pipe")).toMatch(/^pipe is a named pipe, not a file: .*bash/)
        expect(yield* failed("/dev/zero")).toMatch(/^\/dev\/zero is a device, not a file: .*bash/)
        expect(yield* failed("none")).toBe("Cannot look at none: there is no such file or folder.")
        expect(yield* failed("a\0b")).toBe('"a\\u0000b" is no path: it has a NUL character.')
        expect(yield* failed("\ud800")).toBe('Cannot look at "\\ud800": there is no such file or folder.')
      })
    )
  })
})
