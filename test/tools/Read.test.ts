import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import { renameSync, rmSync, statfsSync, symlinkSync, truncateSync } from "node:fs"
import { tmpdir } from "node:os"
import sharp, { type Sharp } from "sharp"
import type * as Tool from "../../src/Tool.ts"
import * as Read from "../../src/tools/Read.ts"
import { execute, failureOf, folder, services, textOf, within } from "./support.ts"

const read = (params: { readonly path: string; readonly offset?: number; readonly limit?: number }) =>
  execute(Read.tool, params)

/** Reads a file of this content. */
const readContent = Effect.fnUntraced(function* (
  content: string | Uint8Array,
  page: Omit<typeof Read.tool.schema.Type, "path"> = {}
) {
  return yield* within(yield* folder({ file: content }))(read({ path: "file", ...page }))
})

/** Files that give the same chunk at each read, at most `times`, and then an end. */
const counting = Effect.fnUntraced(function* (chunk: Uint8Array, times = Infinity, end = "") {
  const fs = yield* FileSystem.FileSystem
  let reads = 0
  const next = (buffer: Uint8Array) => {
    reads++
    const bytes = reads <= times ? chunk : reads === times + 1 ? Buffer.from(end) : Buffer.of()
    buffer.set(bytes)
    return bytes.length
  }
  const open: FileSystem.FileSystem["open"] = (path, options) =>
    Effect.map(fs.open(path, options), (file) => ({
      ...file,
      stat: file.stat,
      read: (buffer: Uint8Array) => Effect.sync(() => next(buffer))
    }))
  return { layer: Layer.succeed(FileSystem.FileSystem, { ...fs, open }), reads: () => reads }
})

/** Whether there is a disk, and not memory, with room for a file of 2 GB and for others beside it. */
const hasRoom = () => {
  const { bavail, bsize, type } = statfsSync(tmpdir())
  const tmpfs = 0x01021994
  return type !== tmpfs && bavail * bsize > 8 * 1024 ** 3
}

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

    it.effect("lines are numbered on request, and may be as blank as they like", () =>
      Effect.gen(function* () {
        expect(textOf(yield* readContent("a\r\n\n c", { lineNumbers: true }))).toBe(
          "1\ta\n2\t\n3\t c\n\n[Lines end with CR LF.]"
        )
        const page = yield* readContent(numbered(12), { offset: 10, limit: 2, lineNumbers: true })
        expect(textOf(page)).toMatch(/^10\tline 10\n11\tline 11\n\n\[/)
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
        expect(textOf(yield* readContent(Uint8Array.of(0x61, 0xff, 0x62)))).toBe(
          "a\ufffdb\n\n[Bytes that are not UTF-8 are shown as \ufffd.]"
        )
      })
    )

    it.effect("a file of 2 GB is read in bounded memory up to where there is enough, and no further", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const chunk = Buffer.from(`${"x".repeat(1023)}\n`.repeat(256))
        const reading = yield* counting(chunk)
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

    it.effect.skipIf(!hasRoom())(
      "a real file of 2 GB (skipped without 8 GB of free disk) is read at its start and its end in bounded memory",
      () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const path = yield* folder()
          const fill = 'yes "$(printf %01023d 0)" | head -c 2147483648 >file && echo LAST >>file'
          expect(spawnSync("sh", ["-c", fill], { cwd: path }).status).toBe(0)
          expect(Number((yield* fs.stat(`${path}/file`)).size)).toBe(2 * 1024 ** 3 + 5)
          const before = process.memoryUsage.rss()
          let peak = before
          const open: FileSystem.FileSystem["open"] = (name, options) =>
            Effect.map(fs.open(name, options), (file) => ({
              ...file,
              stat: file.stat,
              read: (buffer: Uint8Array) => {
                peak = Math.max(peak, process.memoryUsage.rss())
                return file.read(buffer)
              }
            }))
          const pages = yield* Effect.all([
            read({ path: `${path}/file`, limit: 2 }),
            read({ path: `${path}/file`, offset: 2 * 1024 ** 2, limit: 10 })
          ]).pipe(Effect.provideService(FileSystem.FileSystem, { ...fs, open }))
          expect(pages.map(({ details }) => details)).toEqual([
            { offset: 1, lines: 2, truncated: true, nextOffset: 3 },
            { offset: 2_097_152, lines: 2, truncated: false, totalLines: 2_097_153 }
          ])
          expect(textOf(pages[1])).toMatch(/^0{1023}\nLAST\n\n\[Lines 2097152-2097153, the end of the file\.\]$/)
          expect(peak - before).toBeLessThan(64 * 1024 ** 2)
        }),
      120_000
    )

    it.effect("the beginning of a next line is enough to know that there is one", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const reading = yield* counting(Buffer.from(`a\n${"x".repeat(1000)}`))
        const result = yield* Effect.provide(read({ path: `${path}/file`, limit: 1 }), reading.layer)
        expect(result.details).toMatchObject({ lines: 1, truncated: true, nextOffset: 2 })
        expect(reading.reads()).toBe(1)
      })
    )

    it.effect("a line of 200 MB is cut in bounded memory, and the line after it is found", () =>
      Effect.gen(function* () {
        const path = yield* folder({ file: "" })
        const reading = yield* counting(Buffer.alloc(256 * 1024, "x"), 800, "\nnext\n")
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
        const failed = (file: string) => within(path)(failureOf(Read.tool, { path: file }))
        expect(yield* failed("start")).toContain("start is a binary file (5 bytes): it has NUL bytes.")
        expect(yield* failed("utf16")).toMatch(/^utf16 is a text in UTF-16 \(4 bytes\).*iconv/)
        const late = { path: "late", offset: 149_999 }
        expect(yield* within(path)(failureOf(Read.tool, late))).toContain("late is a binary file (300,001 bytes)")
      })
    )

    it.effect("PDFs, archives and databases are named, with what to use for them", () =>
      Effect.gen(function* () {
        const files = {
          "a.pdf": ["%PDF-1.7\n1 0 obj", "a PDF (16 bytes). Use bash with `pdftotext`"],
          "a.docx": ["PK\x03\x04", "a ZIP archive (4 bytes) or a format that is one (docx, xlsx, jar)"],
          "a.db": ["SQLite format 3\0", "an SQLite database (16 bytes). Use bash with `sqlite3"]
        }
        const path = yield* folder(Object.fromEntries(Object.entries(files).map(([name, [start]]) => [name, start!])))
        for (const [name, [, says]] of Object.entries(files)) {
          expect(yield* within(path)(failureOf(Read.tool, { path: name }))).toContain(`${name} is ${says}`)
        }
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

  describe("what is exchanged while it is opened", () => {
    /** A folder in the root, and the same elsewhere; `exchange` and `restore` put a link to the other in its place. */
    const place = Effect.fnUntraced(function* () {
      const base = yield* folder({ "root/sub/a.txt": "inside", "other/a.txt": "SECRET" })
      const exchange = () => {
        renameSync(`${base}/root/sub`, `${base}/root/away`)
        symlinkSync(`${base}/other`, `${base}/root/sub`)
      }
      const restore = () => {
        rmSync(`${base}/root/sub`)
        renameSync(`${base}/root/away`, `${base}/root/sub`)
      }
      return { base, exchange, restore }
    })
    /** Reads with something done before and after the file is opened. */
    const readWith = Effect.fnUntraced(function* (base: string, before: () => void, after: () => void) {
      const fs = yield* FileSystem.FileSystem
      const open: FileSystem.FileSystem["open"] = (path, options) =>
        Effect.andThen(
          Effect.sync(before),
          Effect.tap(fs.open(path, options), () => Effect.sync(after))
        )
      return yield* within(`${base}/root`)(Effect.result(read({ path: "sub/a.txt" }))).pipe(
        Effect.provideService(FileSystem.FileSystem, { ...fs, open })
      )
    })
    const nothing = () => {}

    it.effect("is not read: neither through a link in its place nor when all is put back at once", () =>
      Effect.gen(function* () {
        for (const puts of ["nothing", "back"]) {
          const { base, exchange, restore } = yield* place()
          const result = yield* readWith(base, exchange, puts === "back" ? restore : nothing)
          expect(result).toMatchObject({
            _tag: "Failure",
            failure: {
              message: "Cannot read sub/a.txt: it was exchanged for another while it was being opened. Try again."
            }
          })
        }
        const { base, exchange } = yield* place()
        expect(yield* readWith(base, nothing, exchange)).toMatchObject({ _tag: "Failure" })
        const link = yield* place()
        const toLink = () => {
          rmSync(`${link.base}/root/sub/a.txt`)
          symlinkSync(`${link.base}/other/a.txt`, `${link.base}/root/sub/a.txt`)
        }
        expect(yield* readWith(link.base, toLink, nothing)).toMatchObject({
          failure: {
            message: "Cannot read sub/a.txt: it was exchanged for another while it was being opened. Try again."
          }
        })
      })
    )
  })

  describe("images", () => {
    const draw = (
      width: number,
      height: number,
      options: { readonly alpha?: boolean; readonly noise?: boolean } = {}
    ) => {
      const channels = options.alpha === true ? 4 : 3
      if (options.noise !== true)
        return sharp({ create: { width, height, channels, background: { r: 18, g: 104, b: 154, alpha: 0.5 } } })
      const raw = Buffer.alloc(width * height * channels)
      for (let i = 0, state = 1; i < raw.length; i++) raw[i] = (state = (state * 48_271) % 0x7fffffff) & 0xff
      return sharp(raw, { raw: { width, height, channels } })
    }
    const encoded = (image: Sharp) => Effect.promise(() => image.toBuffer())
    const imageOf = ({ content }: Tool.ToolResult) => {
      const block = content![1]!
      expect(block.type).toBe("image")
      return block.type === "image" ? block : { data: "", mimeType: "" }
    }
    const looksLike = (result: Tool.ToolResult) =>
      Effect.promise(() => sharp(Buffer.from(imageOf(result).data, "base64")).metadata())

    it.effect("are known by their first bytes, whatever their name, and come as they are if they are small", () =>
      Effect.gen(function* () {
        const image = () => draw(20, 10)
        const files = {
          "image/png": yield* encoded(image().png()),
          "image/jpeg": yield* encoded(image().jpeg()),
          "image/gif": yield* encoded(image().gif()),
          "image/webp": yield* encoded(image().webp())
        }
        for (const [mimeType, bytes] of Object.entries(files)) {
          const result = yield* readContent(bytes)
          expect(result.content).toEqual([
            { type: "text", text: `${mimeType}, ${bytes.length} bytes, 20 × 10 pixels` },
            { type: "image", mimeType, data: bytes.toString("base64") }
          ])
          expect(result.details).toEqual({
            mimeType,
            bytes: bytes.length,
            width: 20,
            height: 10,
            originalBytes: bytes.length
          })
        }
        // Sound, in the container that WebP has too.
        const wave = Uint8Array.from([0x52, 0x49, 0x46, 0x46, 1, 0, 0, 0, 0x57, 0x41, 0x56, 0x45, 0])
        expect(yield* within(yield* folder({ wave }))(failureOf(Read.tool, { path: "wave" }))).toContain("binary")
      })
    )

    it.effect("that are larger than models look at are made smaller, upright and with their shape", () =>
      Effect.gen(function* () {
        const wide = yield* readContent(yield* encoded(draw(3136, 1000).png()))
        expect(wide.details).toMatchObject({
          mimeType: "image/jpeg",
          width: 1568,
          height: 500,
          original: { width: 3136, height: 1000 }
        })
        expect(textOf(wide)).toMatch(
          /^image\/png, [\d,]+ bytes, 3136 × 1000 pixels, shown as image\/jpeg of 1568 × 500$/
        )
        expect(yield* looksLike(wide)).toMatchObject({ format: "jpeg", width: 1568, height: 500 })

        const clear = yield* readContent(yield* encoded(draw(100, 2000, { alpha: true }).png()))
        expect(yield* looksLike(clear)).toMatchObject({ format: "webp", width: 78, height: 1568, hasAlpha: true })

        const turned = yield* readContent(yield* encoded(draw(20, 10).jpeg().withMetadata({ orientation: 6 })))
        expect(turned.details).toMatchObject({ width: 10, height: 20 })
        expect((yield* looksLike(turned)).orientation).toBeUndefined()
      })
    )

    it.effect("of too many bytes are made smaller, and what models do not take is turned into what they do", () =>
      Effect.gen(function* () {
        const noise = yield* encoded(draw(1500, 1500, { noise: true }).png())
        expect(noise.length).toBeGreaterThan(4 * 1024 * 1024)
        const smaller = imageOf(yield* readContent(noise))
        expect(smaller.mimeType).toBe("image/jpeg")
        expect(smaller.data.length).toBeLessThan(5 * 1024 * 1024)

        const tiff = yield* readContent(yield* encoded(draw(30, 20).tiff()))
        expect(imageOf(tiff).mimeType).toBe("image/jpeg")
        expect(textOf(tiff)).toMatch(/^image\/tiff, .* 30 × 20 pixels, shown as image\/jpeg of 30 × 20$/)
        expect(imageOf(yield* readContent(yield* encoded(draw(30, 20).avif()))).mimeType).toBe("image/jpeg")
      })
    )

    it.effect("that are broken, cut off or immense are refused, since a provider would refuse the whole request", () =>
      Effect.gen(function* () {
        const whole = yield* encoded(draw(500, 500, { noise: true }).png())
        const path = yield* folder({
          "stub.png": whole.subarray(0, 12),
          "cut.png": whole.subarray(0, whole.length / 2),
          "huge.png": yield* encoded(draw(12_000, 9000).png())
        })
        const failed = (file: string) => within(path)(failureOf(Read.tool, { path: file }))
        expect(yield* failed("stub.png")).toBe(
          "stub.png is an image (image/png) of 12 bytes, but it cannot be decoded, so it is broken or cut off."
        )
        expect(yield* failed("cut.png")).toContain("it cannot be decoded")
        expect(yield* failed("huge.png")).toContain("it has more than 100 million pixels.")
        truncateSync(`${path}/cut.png`, Read.MAX_IMAGE_BYTES + 1)
        expect(yield* failed("cut.png")).toContain("67,108,865 bytes; at most 67,108,864 can be read.")
      })
    )

    it("are all that sharp is loaded for", () => {
      const program = `
        await import(${JSON.stringify(new URL("../../src/tools/Tools.ts", import.meta.url).href)})
        const { default: process } = await import("node:process")
        console.log(process.report.getReport().sharedObjects.filter((name) => /sharp|vips/.test(name)).length)`
      const loaded = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })
      expect(loaded.stdout).toBe("0\n")
    })
  })
})
