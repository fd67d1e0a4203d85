// What holds for any question and any results, and what the stand-in does where tools are missing, refuse, or say too much.
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Equal from "effect/Equal"
import * as Schema from "effect/Schema"
import type { LlmMessage } from "../../../src/Message.ts"
import { model } from "../../../src/providers/Offline.ts"
import { plan, type Reply } from "../../../src/providers/offline/plan.ts"
import type { Call } from "../../../src/providers/offline/recipe.ts"
import type { Declaration } from "../../../src/Tool.ts"
import { brief, calling, expectQuotes, manifest, quotesOf, resultOf, tools, user } from "./support.ts"

type Given = string | { readonly error: string }

const isError = (given: Given): given is { readonly error: string } => typeof given !== "string"

/** Answers the calls of a reply, each with what `give` has for it. */
const respond = (calls: ReadonlyArray<Call>, round: number, give: (call: Call) => Given): ReadonlyArray<LlmMessage> => [
  calling(calls, round),
  ...calls.map((call, index) => {
    const given = give(call)
    return resultOf(`call_${round}_${index}`, call.name, isError(given) ? given.error : given, isError(given))
  })
]

interface Talk {
  readonly text: string
  readonly calls: ReadonlyArray<Call>
  readonly rounds: number
  readonly messages: ReadonlyArray<LlmMessage>
}

/** Talks until there is an answer. More rounds than any recipe has are a failure. */
const talk = (question: string, give: (call: Call) => Given, declared: ReadonlyArray<Declaration> = tools): Talk => {
  const messages: Array<LlmMessage> = [user(question)]
  const calls: Array<Call> = []
  for (let rounds = 0; rounds < 6; rounds++) {
    const reply: Reply = plan({ messages, tools: declared, model })
    if (reply._tag === "Text") return { text: reply.text, calls, rounds, messages }
    expect(reply.calls.length).toBeGreaterThan(0)
    calls.push(...reply.calls)
    messages.push(...respond(reply.calls, rounds, give))
  }
  return expect.fail(`no answer to ${JSON.stringify(question)} after ${calls.map(brief).join(", ")}`)
}

const only = (...names: ReadonlyArray<string>): ReadonlyArray<Declaration> =>
  tools.filter(({ name }) => names.includes(name))

describe("a tool that is missing", () => {
  it("is named, and nothing is called", () => {
    const { text, calls } = talk("search for TODO", () => "", only("read", "ls"))
    expect(text).toContain(
      `I cannot search this folder for "TODO": that takes the tool "grep", and this run has only read and ls.`
    )
    expect(calls).toEqual([])
    expect(talk("ls", () => "", []).text).toContain("this run has no tools.")
  })

  it("is named where a run has no tool list at all", () => {
    const reply = plan({ messages: [user("read a.txt")], tools: undefined, model })
    expect(reply).toMatchObject({ _tag: "Text", text: expect.stringContaining(`I cannot read a.txt`) })
  })

  it("is done without where another way is left", () => {
    const give = ({ arguments: { path } }: Call): Given =>
      path === "package.json" ? JSON.stringify(manifest) : { error: `Cannot read ${path}: there is no such file.` }
    const { text, calls } = talk("which license is this under?", give, only("read"))
    expect(calls.map(brief)).toEqual(["read package.json", "read LICENSE"])
    expect(text).toContain(`package.json says license: "ISC".`)
  })

  it("is one of the same name that takes something else", () => {
    const other = { name: "read", description: "", parameters: { type: "object", properties: { file: {} } } }
    const { text, calls } = talk("read a.txt", () => "", [other])
    expect(text).toContain(`the tool "read" of this run has no parameter "path".`)
    expect(calls).toEqual([])
  })

  it("need not be declared with properties", () => {
    const bare = { name: "read", description: "", parameters: { type: "object" } }
    expect(talk("read a.txt", () => "hello", [bare]).text).toContain("    hello")
  })
})

describe("a call that went wrong", () => {
  it("is told with the reason that was given", () => {
    const blocked = talk("run `rm -rf build`", () => ({ error: "Not allowed here." }))
    expect(blocked.text).toContain("`rm -rf build` failed and printed:\n\n    Not allowed here.")
    expect(talk("read a.txt", () => ({ error: "Blocked by policy." })).text).toContain(
      "I could not read a.txt: Blocked by policy."
    )
    expect(talk("ls", () => ({ error: "" })).text).toContain("I could not list this folder, and was not told why.")
  })

  it("does not hide what the other calls gave", () => {
    const { text } = talk("read a.txt and b.txt", ({ arguments: { path } }) =>
      path === "a.txt" ? { error: "Operation aborted" } : "bee"
    )
    expect(text).toContain("I could not read a.txt: Operation aborted\n\nb.txt:\n\n    bee")
  })

  it("is not made again if its result was lost", () => {
    const messages = [user("read a.txt"), calling([{ name: "read", arguments: { path: "a.txt" } }], 0)]
    const reply = plan({ messages, tools, model })
    expect(reply).toMatchObject({ text: expect.stringContaining("I could not read a.txt: the call has no result.") })
  })
})

describe("a result that is too long", () => {
  it("gives a bounded answer", () => {
    const giant = talk("read a.txt", () => `${"x".repeat(100_000)}\n`.repeat(1000))
    expect(giant.text.length).toBeLessThan(20_000)
    expect(giant.text).toContain("(940 more lines)")
    const wide = { ...manifest, scripts: Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`s${n}`, "x"])) }
    const many = talk("what scripts does package.json define?", () => JSON.stringify(wide))
    expect(many.text).toContain("5000 scripts")
    expect(many.text.length).toBeLessThan(5000)
  })

  it("is not cut within a character", () => {
    const { text } = talk("read a.txt", () => `a${"🌹".repeat(500)}`)
    expect(text.isWellFormed()).toBe(true)
    expect(text).toContain("🌹 …")
  })

  it("is said to be a part where the tool says so", () => {
    const note = "[Showing lines 1-2 of 5000. Use offset=3 to continue.]"
    const { text } = talk("what does notes.txt say about roses?", () => `one\nroses\n\n${note}`)
    expect(text).toContain(`    2: roses\n\nI was shown only a part of notes.txt. The tool said:\n\n    ${note}`)
    // JSON that is cut off is no JSON: its lines are quoted, and nothing is said of its members.
    const cut = talk("what scripts does package.json define?", () => `{\n  "scripts": {\n    "a": "b",\n\n${note}`)
    expect(cut.text).toContain(`package.json says:\n\n    2:   "scripts": {`)
    expect(cut.text).toContain("only a part of package.json")
  })
})

describe("a question that is too long", () => {
  it("is read as far as it goes, and no further", () => {
    const { text, calls } = talk(`read a.txt. ${"la ".repeat(3000)}. Run \`rm -rf x\``, () => "hello")
    expect(calls.map(brief)).toEqual(["read a.txt"])
    expect(text).toContain("I read only the first 4000 characters of a message.")
  })

  it("is answered up to a number of requests", () => {
    const { text, calls } = talk(Array.from({ length: 40 }, (_, n) => `read f${n}.txt.`).join(" "), () => "hello")
    expect(calls.length).toBe(6)
    expect(text).toContain("I answer at most 6 requests at once, and left out the rest.")
    const names = Array.from({ length: 40 }, (_, n) => `f${n}.txt`)
    const listed = talk(`read ${names.slice(0, 9).join(", ")}`, () => "hello")
    expect(listed.calls.length).toBe(6)
    expect(listed.text).toContain("left out f6.txt, f7.txt and f8.txt.")
  })

  it("never makes a command of half of one", () => {
    expect(talk(`run echo ${"a".repeat(5000)}; rm b`, () => "").calls).toEqual([])
    expect(talk(`run echo ${"a".repeat(1000)}`, () => "").calls).toEqual([])
    expect(talk("run echo `a; rm b", () => "").calls).toEqual([])
    const cut = talk(`read a.txt. ${" ".repeat(3970)} run echo to/the/very/end`, () => "hello")
    expect(cut.calls.map(brief)).toEqual(["read a.txt"])
  })
})

describe("marks for what is quoted", () => {
  it("cannot be written by the user", () => {
    const { calls } = talk("run \uE0000\uE001; read `a.txt`", () => "hello")
    expect(calls.map(brief)).toEqual(["read a.txt"])
  })
})

describe("words for the shell", () => {
  it("mean only themselves", () => {
    const { calls } = talk("find files named `a'; touch b; '`", () => "(no output)")
    expect(calls).toEqual([
      {
        name: "bash",
        arguments: {
          command: `find '.' \\( -name node_modules -o -name .git \\) -prune -o -type f -iname '*a'\\''; touch b; '\\''*' -print`
        }
      }
    ])
  })
})

describe("a project of another kind", () => {
  const project: Record<string, string> = {
    "Cargo.toml": `[package]\nname = "rose"\nversion = "0.3.0"\nlicense = "MIT"\n\n[dependencies]\nserde = "1.0"\n\n[profile.dev]\nopt-level = 1\n`,
    Makefile: "all:\n\tcargo build\n\ntest:\n\tcargo test\n"
  }
  const give = ({ name, arguments: { path } }: Call): Given =>
    name === "ls" ? "Cargo.toml  120\nMakefile  30\nsrc/" : (project[String(path)] ?? { error: "no such file" })

  it("is answered from its own files", () => {
    const depends = talk("what does this depend on?", give)
    expect(depends.text).toContain(`Cargo.toml says:\n\n    6: [dependencies]\n    7: serde = "1.0"\n`)
    expect(depends.text).not.toContain("opt-level")
    expect(talk("how do I run the tests?", give).text).toContain(
      "Makefile says:\n\n    4: test:\n    5: \tcargo test\n"
    )
    expect(talk("which license is this under?", give).text).toContain("tells me the license")
    expect(talk("what version is this?", give).text).toContain(`    3: version = "0.3.0"`)
  })

  it("uses the package manager of its lock file", () => {
    const listing = "package.json  10\npnpm-lock.yaml  10"
    const npm = (call: Call) => (call.name === "ls" ? listing : JSON.stringify(manifest))
    expect(talk("how do I run the tests?", npm).text).toContain("`pnpm test`")
    expect(talk("run the build", npm).calls.map(brief).at(-1)).toBe("bash pnpm run build")
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// Properties
// ---------------------------------------------------------------------------------------------------------------------

const words = Schema.Literals([
  ..."what which where is are does do the a of in and list read show find search for files file run summarise how many lines".split(
    " "
  ),
  ..."it this that use used defined license depend on tests build scripts version node project called named mention TODO".split(
    " "
  ),
  ...'package.json README.md readme src/a.ts src b.txt *.ts `npm test` `x y` "quoted" /re.*/ Foo.bar camelCase last first 3 line'.split(
    " "
  ),
  "?",
  ".",
  ",",
  ";",
  "\n",
  "instead",
  "please",
  "`",
  "'",
  "\uE0000\uE001"
])

const Question = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Union([words, words, words, words, Schema.String])), { maxLength: 24 }),
  (parts) => parts.join(" ")
)

const lines = Schema.Literals([
  "src/",
  "README.md",
  "README.md  1,234",
  "package.json",
  "LICENSE",
  "link@ -> /etc/passwd",
  "./src/a.ts",
  "src/a.ts:3:export const camelCase = 1",
  "src/a.ts:4:  TODO: run `npm test`",
  "# TODO tests",
  "    indented by four",
  "    12: numbered",
  "Roses want water. Use it in src",
  "import x from 'y'",
  `{"scripts":{"test":"t","build":"b"},"license":"MIT","version":"1"}`,
  `"license": "MIT",`,
  "{",
  "}",
  "[1,2]",
  "",
  "\t",
  "[Exit code 1]",
  "(no matches)",
  "(3 blank lines)",
  "[Showing lines 1-3 of 9. Use offset=4 to continue.]",
  "Operation aborted",
  "a\rb\u2028c",
  "🌹".repeat(200)
])

const Result = Schema.Struct({
  text: Schema.Union([Schema.Array(lines), Schema.String]),
  isError: Schema.Boolean
})

const textOf = ({ text }: typeof Result.Type): string => (typeof text === "string" ? text : text.join("\n"))

describe("whatever is asked, and whatever the tools say", () => {
  const parameters = new Map(tools.map((tool) => [tool.name, Object.keys(Object(tool.parameters["properties"]))]))

  it.prop(
    "there is an answer after a few rounds, of calls that are declared and none made twice",
    [Question, Schema.Array(Result)],
    ([question, results]) => {
      let next = 0
      const give = (): Given => {
        const result = results.length === 0 ? undefined : results[next++ % results.length]!
        if (result === undefined) return ""
        return result.isError ? { error: textOf(result) } : textOf(result)
      }
      const { text, calls, messages } = talk(question, give)
      expect(text.trim()).not.toBe("")
      expect(text.isWellFormed()).toBe(true)
      expect(text.length).toBeLessThan(100_000)
      expectQuotes(text, messages)
      for (const [index, call] of calls.entries()) {
        expect(parameters.get(call.name)).toEqual(expect.arrayContaining(Object.keys(call.arguments)))
        expect(calls.slice(0, index).filter((other) => Equal.equals(other, call))).toEqual([])
      }
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    "the same transcript has the same reply",
    [Question],
    ([question]) => {
      const request = { messages: [user(question)], tools, model }
      expect(plan(request)).toEqual(plan(request))
    },
    { arbitrary: { runs: 100 } }
  )
})

describe("quotes", () => {
  it("are told apart from the answer's own words", () => {
    expect(quotesOf("a\n    b\n   c\n    3: d …")).toEqual(["b", "3: d"])
    expect(() => expectQuotes("    invented", [user("?"), resultOf("1", "read", "real")])).toThrow("invented")
  })
})
