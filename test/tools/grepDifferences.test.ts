// Grep beside the one in the SDK's toolset, on the same generated folders: they find the same lines, except where the
// table says why not. Each entry of the table must explain something, and nothing may be left unexplained.
import { betaGrepTool } from "@anthropic-ai/sdk/tools/agent-toolset/node"
import { expect, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { rgPath } from "@vscode/ripgrep"
import { dirname } from "node:path"
import { vi } from "vitest"
import * as Grep from "../../src/tools/Grep.ts"
import { execute, folder, services, textOf, within } from "./support.ts"

const Name = Schema.Literals([
  "a",
  "b.ts",
  ".dot",
  ".env",
  ".git/x",
  "out/c",
  "out/e",
  "sub/.gitignore",
  "sub/d",
  "é 👩‍👧",
  "new\nline"
])
const Line = Schema.Literals([
  "needle",
  "Needle",
  "a needle in hay",
  "hay",
  "",
  "-needle",
  "needle\r",
  "f(x)",
  `needle ${"long ".repeat(300)}`,
  `${"long ".repeat(500)}needle`,
  "\0needle",
  "\ufeffneedle",
  "nééédle"
])
const File = Schema.Struct({ name: Name, lines: Schema.NonEmptyArray(Line), endsWithNewline: Schema.Boolean })
const Folder = Schema.Struct({
  files: Schema.NonEmptyArray(File),
  ignores: Schema.Boolean,
  isRepository: Schema.Boolean,
  pattern: Schema.Literals([
    "needle",
    "^needle$",
    "-needle",
    "n.+dle",
    "f\\(x\\)",
    "f(",
    "(?=n)needle",
    "x{2",
    "(?i)needle",
    "\\bneedle$"
  ])
})
type Folder = typeof Folder.Type
const folders = Arbitrary.schema(Folder)

/** What one of them did: the lines as `path:number:text`, or that it failed. */
type Outcome = ReadonlySet<string> | "failed"

/** A line that only one of the two gave, or that only one of them failed. */
interface Seen {
  readonly by: "us" | "them"
  readonly pattern: string
  readonly line: string
  /** Where the line is from, and what is in that file. */
  readonly path: string
  readonly content: string
}

interface Difference {
  readonly why: string
  readonly explains: (seen: Seen) => boolean
}

const isCut: Difference = {
  why: "of a long line the start is given here, and it says so; there all of it, or without ripgrep nothing from 2,000 characters",
  explains: ({ line }) => line.length > 400
}
const isQuoted: Difference = {
  why: "a name with a line break is quoted here, and broken in two there",
  explains: ({ by, line }) => (by === "us" ? line.startsWith('"new\\nline":') : /^(new$|line:)/.test(line))
}
const isCrlf: Difference = {
  why: "the CR of a line's end is not given here",
  explains: ({ content }) => content.includes("\r")
}
const isClosed: Difference = {
  why: "files with secrets are not searched here",
  explains: ({ by, path }) => by === "them" && path === ".env"
}

const WITH_RIPGREP: ReadonlyArray<Difference> = [
  isCut,
  isQuoted,
  isCrlf,
  {
    why: "dotfiles are searched here",
    explains: ({ by, path }) => by === "us" && /(^|\/)\.(dot|gitignore)$/.test(path)
  },
  {
    why: "an ignore file counts here also where there is no repository",
    explains: ({ by, path }) => by === "them" && path.startsWith("out/")
  }
]

const WITHOUT_RIPGREP: ReadonlyArray<Difference> = [
  isCut,
  isQuoted,
  isCrlf,
  isClosed,
  { why: "ignore files count here", explains: ({ by, path }) => by === "them" && path.startsWith("out/") },
  {
    why: "an expression is Rust's here and JavaScript's there",
    explains: ({ pattern }) => ["(?=n)needle", "(?i)needle", "x{2"].includes(pattern)
  },
  {
    why: "a file with a NUL is told here in a word, and searched up to it there",
    explains: ({ content }) => content.includes("\0")
  },
  {
    why: "the mark of the byte order is not a part of the first line here",
    explains: ({ content }) => content.startsWith("\ufeff")
  }
]

const parse = (output: string, prefix: string): ReadonlySet<string> =>
  new Set(
    output
      .split("\n")
      .filter((line) => line !== "" && line !== "no matches" && line !== "(no matches)")
      .map((line) => line.replace(prefix, ""))
  )

const theirs = (path: string, pattern: string): Effect.Effect<Outcome> =>
  Effect.promise(() =>
    Promise.resolve(betaGrepTool({ workdir: path }).run({ pattern })).then(
      (output): Outcome => parse(String(output), `${path}/`),
      () => "failed" as const
    )
  )

const ours = (path: string, pattern: string) =>
  within(path)(execute(Grep.tool, { pattern, limit: Grep.MAX_LIMIT })).pipe(
    Effect.match({ onFailure: (): Outcome => "failed", onSuccess: (result): Outcome => parse(textOf(result), "") })
  )

const linesOf = (outcome: Outcome): ReadonlyArray<string> => (outcome === "failed" ? ["failed"] : [...outcome])

const contentOf = ({ endsWithNewline, lines }: Folder["files"][number]) =>
  lines.join("\n") + (endsWithNewline ? "\n" : "")

const makeFolder = Effect.fnUntraced(function* ({ files, ignores, isRepository }: Folder) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* folder({
    ...(ignores && { ".gitignore": "out\n" }),
    ...(isRepository && { ".git/HEAD": "ref: refs/heads/main\n" })
  })
  for (const file of files) {
    const name = `${path}/${file.name}`
    yield* fs.makeDirectory(name.slice(0, name.lastIndexOf("/")), { recursive: true })
    yield* fs.writeFileString(name, contentOf(file))
  }
  return path
})

/** What the two do not have in common. */
const differences = (us: Outcome, them: Outcome, { files, pattern }: Folder): ReadonlyArray<Seen> => {
  const seenBy = (by: "us" | "them", mine: Outcome, others: Outcome) =>
    linesOf(mine)
      .filter((line) => !linesOf(others).includes(line))
      .map((line): Seen => {
        const file = files.findLast(({ name }) => line.startsWith(`${name}:`) || line.startsWith(`${name}: `))
        return { by, pattern, line, path: file?.name ?? "", content: file === undefined ? "" : contentOf(file) }
      })
  return [...seenBy("us", us, them), ...seenBy("them", them, us)]
}

layer(services, { excludeTestServices: true })("grep beside the SDK's", (it) => {
  for (const [name, PATH, table] of [
    ["with ripgrep", dirname(rgPath), WITH_RIPGREP],
    ["without ripgrep", "/nowhere", WITHOUT_RIPGREP]
  ] as const) {
    const explained = new Set<Difference>()

    it.effect.prop(
      `${name}, each difference is one of the table`,
      [folders],
      ([generated]) =>
        Effect.gen(function* () {
          vi.stubEnv("PATH", PATH)
          const path = yield* makeFolder(generated)
          const us = yield* ours(path, generated.pattern)
          const them = yield* theirs(path, generated.pattern)
          for (const seen of differences(us, them, generated)) {
            const reasons = table.filter(({ explains }) => explains(seen))
            expect({ ...seen, reasons: reasons.length }).toMatchObject({ reasons: expect.toSatisfy((n) => n > 0) })
            for (const reason of reasons) explained.add(reason)
          }
        }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => vi.unstubAllEnvs()))),
      { arbitrary: { runs: 80, seed: 1 } }
    )

    it.effect(`${name}, each entry of the table explains something`, () =>
      Effect.sync(() => {
        expect(table.filter((one) => !explained.has(one)).map(({ why }) => why)).toEqual([])
      })
    )
  }
})
