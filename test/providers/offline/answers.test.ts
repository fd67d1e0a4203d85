// What the stand-in answers about a real folder, with the real tools.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { intents, introduce } from "../../../src/providers/offline/intents.ts"
import { parse } from "../../../src/providers/offline/question.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"
import { folder } from "../../tools/support.ts"
import { ask, assistant, files, goOn, hostile, manifest, resultOf, user } from "./support.ts"

const Garden = Layer.unwrap(Effect.map(folder(files), (root) => Workspace.layer({ root }))).pipe(
  Layer.provideMerge(NodeServices.layer)
)

interface Case {
  readonly question: string
  /** The calls of each round; of a command only its beginning. */
  readonly rounds: ReadonlyArray<ReadonlyArray<string>>
  readonly says: ReadonlyArray<string>
  readonly never?: ReadonlyArray<string>
}

const scripts = Object.entries(manifest.scripts).map(([name, value]) => `- ${name}: ${value}\n`)
const find = "bash find '.' "

const cases: ReadonlyArray<Case> = [
  // JSON
  {
    question: "what scripts does package.json define?",
    rounds: [["read package.json"]],
    says: [`package.json has ${scripts.length} scripts:`, ...scripts],
    never: ["seed-list"]
  },
  {
    question: "What does package.json say about seed-list?",
    rounds: [["read package.json"]],
    says: [`package.json says dependencies.seed-list: "^3.0.0".`],
    never: ["vitest"]
  },
  {
    question: "does package.json have a build script?",
    rounds: [["read package.json"]],
    says: [`scripts.build: "tsc -p ."`],
    never: ["vitest"]
  },
  {
    question: "what is the url of the repository in package.json?",
    rounds: [["read package.json"]],
    says: [`repository.url: "https://example.org/garden.git"`]
  },
  {
    question: "what is compilerOptions.target in tsconfig.json?",
    rounds: [["read tsconfig.json"]],
    says: [`tsconfig.json says compilerOptions.target: "es2024".`]
  },
  {
    question: "Was steht in package.json?",
    rounds: [["read package.json"]],
    says: ["package.json is a JSON object with 10 members:", "- version: 2.3.1", "- scripts: 4 members"]
  },
  {
    question: "what is the test script in package.json?",
    rounds: [["read package.json"]],
    says: [`scripts.test: "echo all 12 beds pass"`],
    never: ["vitest"]
  },
  // The project
  {
    question: "Which license is this under?",
    rounds: [["ls ."], ["read LICENSE", "read package.json"]],
    says: [`package.json says license: "ISC".`, "LICENSE begins:", "    ISC License"]
  },
  {
    question: "what does garden-planner depend on?",
    rounds: [["ls ."], ["read package.json"]],
    says: ["package.json has 2 dependencies:", "- effect: 4.1.0", "- seed-list: ^3.0.0", "- vitest: 5.1.2"]
  },
  {
    question: "which version of vitest does this use?",
    rounds: [["ls ."], ["read package.json"]],
    says: [`devDependencies.vitest: "5.1.2"`],
    never: ["seed-list"]
  },
  {
    question: "which node version does this need?",
    rounds: [["ls ."], ["read package.json"]],
    says: ["- node: >=22"]
  },
  { question: "who wrote this?", rounds: [["ls ."], ["read package.json"]], says: [`author: "Ada Green"`] },
  { question: "what version is this?", rounds: [["ls ."], ["read package.json"]], says: [`version: "2.3.1"`] },
  { question: "what scripts are there?", rounds: [["ls ."], ["read package.json"]], says: scripts },
  {
    question: "how do I run the tests?",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: [`scripts.test: "echo all 12 beds pass"`, "`npm test`"]
  },
  {
    question: "tell me how I run the tests",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: ["`npm test`"]
  },
  {
    question: "How do I build it?",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: [`scripts.build: "tsc -p ."`, "`npm run build`"]
  },
  {
    question: "how do I install this?",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: ["README.md says:", "    6: ## Install", "    8: Run `npm ci` once."],
    never: ["Watering"]
  },
  {
    question: "how do I deploy it?",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: ["found nothing that tells me how to do that (deploy)"]
  },
  {
    question: "what does the test:watch script do?",
    rounds: [["ls ."], ["read package.json"]],
    says: [`scripts.test:watch: "vitest"`]
  },
  {
    question: "what does `npm run build` do?",
    rounds: [["ls ."], ["read package.json"]],
    says: [`scripts.build: "tsc -p ."`]
  },
  {
    question: "what is the build script?",
    rounds: [["ls ."], ["read package.json"]],
    says: [`scripts.build: "tsc -p ."`]
  },
  {
    question: "what does the constructor script do?",
    rounds: [["ls ."], ["read package.json"]],
    says: ["I found no script named constructor"]
  },
  {
    question: "what is this project?",
    rounds: [["ls ."], ["read README.md", "read package.json"]],
    says: ["garden-planner", `"${manifest.description}"`, "    for gardens of any size.", "- src/", "- notes.txt"]
  },
  // Folders and names
  {
    question: "list the files in src",
    rounds: [["ls src"]],
    says: ["src has 2 entries, 1 of them a folder:", "    garden.ts", "    plants/"]
  },
  { question: "Could you please list the files in src, please?", rounds: [["ls src"]], says: ["src has 2 entries"] },
  { question: "what is in data?", rounds: [["ls data"]], says: ["data has 2 entries:", "    my file.txt"] },
  { question: "ls", rounds: [["ls ."]], says: ["This folder has 11 entries, 2 of them folders:", "    README.md"] },
  { question: "list the files in nowhere", rounds: [["ls nowhere"]], says: ["nowhere: there is no such"] },
  {
    question: "list all TypeScript files",
    rounds: [[find]],
    says: ["There are 3 files", "    src/garden.ts\n    src/plants/index.ts\n    src/plants/rose.ts"]
  },
  {
    question: "how many *.txt files are there in data?",
    rounds: [["bash find 'data' "]],
    says: ["There are 2 files in data", "    data/long.txt\n    data/my file.txt"]
  },
  { question: "find files named rose", rounds: [[find]], says: ["There is 1 file", "    src/plants/rose.ts"] },
  { question: "where is rose.ts?", rounds: [[find]], says: ["    src/plants/rose.ts"] },
  {
    question: "find *.md in nowhere",
    rounds: [["bash find 'nowhere' "]],
    says: ["I found no file in nowhere", "I could not look everywhere:", "nowhere"]
  },
  // Searches
  {
    question: "where is Bed used in src?",
    rounds: [["grep Bed"]],
    says: ["in src:", `    src/plants/rose.ts:2:import { Bed } from "../garden.ts"`]
  },
  {
    question: "where is the function waterRose defined?",
    rounds: [["grep waterRose"]],
    says: ["It is defined here:", "    src/plants/rose.ts:7:export const waterRose"]
  },
  {
    question: "what is `litresPerWeek`?",
    rounds: [["grep litresPerWeek"]],
    says: ["It is defined here:\n\n    src/plants/rose.ts:5:export const litresPerWeek = 14"],
    never: ["bed.size"]
  },
  {
    question: "what does Effect.succeed do?",
    rounds: [["grep Effect.succeed"]],
    says: ["No line looks like a definition of it", "    src/plants/rose.ts:7:"]
  },
  {
    question: "search for TODO",
    rounds: [["grep TODO"]],
    says: [
      `"TODO" is in 2 lines of 2 files:`,
      "    notes.txt:2:TODO: call the seed shop",
      "    src/garden.ts:4:// TODO"
    ]
  },
  {
    question: "which files mention roses?",
    rounds: [["grep roses"]],
    says: [`"roses" is in 2 lines of 2 files:`, "- README.md: 1 line", "- notes.txt: 1 line"]
  },
  {
    question: "how often is litresPerWeek used?",
    rounds: [["grep litresPerWeek"]],
    says: ["is in 2 lines of 1 file."]
  },
  {
    question: 'search for "size * litres" in src/plants',
    rounds: [["grep size * litres"]],
    says: ["    src/plants/rose.ts:7:"]
  },
  {
    question: "search for /litres.*eek = \\d+/",
    rounds: [["grep litres.*eek = \\d+"]],
    says: ["    src/plants/rose.ts:5:export const litresPerWeek = 14"]
  },
  { question: "search for --help", rounds: [["grep --help"]], says: [`I found no line with "--help".`] },
  { question: "search for /(/", rounds: [["grep ("]], says: ["I could not search this folder", "unclosed group"] },
  {
    question: "search for TODO in the markdown files",
    rounds: [["grep TODO"]],
    says: [`I found no line with "TODO" in *.md.`]
  },
  // Files
  {
    question: "read notes.txt and src/garden.ts",
    rounds: [["read notes.txt", "read src/garden.ts"]],
    says: ["notes.txt:\n\n    buy seeds\n", "src/garden.ts:\n\n    export interface Bed {"]
  },
  { question: "read the readme", rounds: [["ls ."], ["read README.md"]], says: ["    # Garden planner"] },
  { question: "show me `data/my file.txt`", rounds: [["read data/my file.txt"]], says: ["    one\n    two"] },
  {
    question: "show rose.ts",
    rounds: [["read rose.ts"], [find], ["read src/plants/rose.ts"]],
    says: ["src/plants/rose.ts:", "    export const litresPerWeek = 14"]
  },
  {
    question: "read nothing.txt",
    rounds: [["read nothing.txt"], [find]],
    says: ["nothing.txt: there is no such file"]
  },
  { question: "read src/plants/", rounds: [], says: ["I did not understand"] },
  { question: "read empty.txt", rounds: [["read empty.txt"]], says: ["empty.txt is empty."] },
  { question: "how many lines does blank.txt have?", rounds: [["read blank.txt"]], says: ["blank.txt has 3 lines."] },
  { question: "how many lines does notes.txt have?", rounds: [["read notes.txt"]], says: ["notes.txt has 3 lines."] },
  {
    question: "how many lines does data/long.txt have?",
    rounds: [["read data/long.txt"]],
    says: ["data/long.txt has more than 2000 lines.", "I was shown only a part", "    [Lines 1-2000."]
  },
  {
    question: "read data/long.txt",
    rounds: [["read data/long.txt"]],
    says: ["    row 60\n(1940 more lines)", "I was shown only a part"],
    never: ["row 61"]
  },
  {
    question: "show lines 2999 to 3005 of data/long.txt",
    rounds: [["read data/long.txt"]],
    says: ["    row 2999\n    row 3000\n"]
  },
  { question: "what is the last line of notes.txt?", rounds: [["read notes.txt"]], says: [":\n\n    water the roses"] },
  {
    question: "what is the last line of data/long.txt?",
    rounds: [["read data/long.txt"]],
    says: ["I do not know how data/long.txt ends."]
  },
  { question: "what is in pixel.png?", rounds: [["read pixel.png"]], says: ["pixel.png is an image"] },
  {
    question: "summarise src/plants/rose.ts",
    rounds: [["read src/plants/rose.ts"]],
    says: ["src/plants/rose.ts has 7 lines"]
  },
  {
    question: "summarise README.md",
    rounds: [["read README.md"]],
    says: ["README.md has 12 lines", "    ## Watering"]
  },
  {
    question: "what does README.md say about watering?",
    rounds: [["read README.md"]],
    says: ["    10: ## Watering\n    12: Roses want water twice a week."],
    never: ["npm ci"]
  },
  {
    question: "what does README.md say about roses and water?",
    rounds: [["read README.md"]],
    says: ["    12: Roses want water twice a week."],
    never: ["Watering"]
  },
  {
    question: "what does src/plants/rose.ts depend on?",
    rounds: [["read src/plants/rose.ts"]],
    says: [`    2: import { Bed } from "../garden.ts"\n    3: import * as Effect from "effect/Effect"`],
    never: ["litres"]
  },
  {
    question: "what does notes.txt say about tulips?",
    rounds: [["read notes.txt"]],
    says: [`No line of notes.txt has the word "tulips".`]
  },
  // Commands
  { question: "run `echo $((6 * 7))`", rounds: [["bash echo $((6 * 7))"]], says: ["printed:\n\n    42"] },
  { question: 'run echo "a  b" | tr a c', rounds: [['bash echo "a  b" | tr a c']], says: ["    c  b"] },
  {
    question: "run `echo oh; exit 3`",
    rounds: [["bash echo oh; exit 3"]],
    says: ["failed and printed:\n\n    oh\n", "    [Exit code 3]"]
  },
  { question: "run `true`", rounds: [["bash true"]], says: ["    (no output)"] },
  {
    question: "run `seq 1 100`",
    rounds: [["bash seq 1 100"]],
    says: ["    10\n(70 more lines)\n    81", "    100"],
    never: ["    11\n"]
  },
  {
    question: "run the tests",
    rounds: [["ls ."], ["read package.json"], ["bash npm test"]],
    says: ["`npm test` printed:", "    all 12 beds pass"]
  },
  { question: "what is the node version?", rounds: [["bash node --version"]], says: ["    v"] },
  { question: "run away", rounds: [], says: ["Write it in backticks"] },
  { question: "delete package.json", rounds: [], says: ["I cannot change"] },
  // Several requests
  {
    question: "list the files in src and search for TODO",
    rounds: [["ls src", "grep TODO"]],
    says: ["src has 2 entries", `"TODO" is in 2 lines`]
  },
  {
    question: "Hi! I am new here. Please read notes.txt, and then tell me what license this has.",
    rounds: [
      ["read notes.txt", "ls ."],
      ["read LICENSE", "read package.json"]
    ],
    says: ["    buy seeds", `license: "ISC"`, `I did not understand "I am new here.".`]
  },
  {
    question: "read notes.txt and tell me how many lines it has",
    rounds: [["read notes.txt"]],
    says: ["    buy seeds", "notes.txt has 3 lines."]
  },
  // What is not understood
  { question: "Wie wird das Wetter morgen?", rounds: [], says: ["I did not understand", "README.md"] },
  { question: "今日の天気は？", rounds: [], says: [`I did not understand "今日の天気は？".`] },
  { question: "hello", rounds: [], says: ["offline stand-in", "README.md says how", "- search for TODO"] },
  { question: "", rounds: [], says: ["There is no text that I could answer."] }
]

const isBeginning = (call: string, expected: string): boolean =>
  expected.startsWith("bash find") ? call.startsWith(expected) : call === expected

layer(Garden, { excludeTestServices: true })("the stand-in", (it) => {
  describe("answers", () => {
    it.effect.each(cases)("$question", ({ question, rounds, says, never = [] }) =>
      Effect.gen(function* () {
        const answer = yield* ask(question)
        for (const text of says) expect(answer.text).toContain(text)
        for (const text of never) expect(answer.text).not.toContain(text)
        const expected = rounds.map((calls, round) =>
          calls.map((call, index) => {
            const made = answer.rounds[round]?.[index] ?? "no call"
            return isBeginning(made, call) ? made : call
          })
        )
        expect(answer.rounds).toEqual(expected)
      })
    )
  })

  describe("in a conversation", () => {
    it.effect("says once that it is no model, below the first answer", () =>
      Effect.gen(function* () {
        const first = yield* ask("what version is this?")
        expect(first.text).toMatch(/\n\n\(This is the offline stand-in.*README.md.*\)$/)
        const second = yield* goOn([...first.messages, user("who wrote this?")])
        expect(second.text).toBe(`package.json says author: "Ada Green".`)
      })
    )

    it.effect("looks again for a later question", () =>
      Effect.gen(function* () {
        const first = yield* ask("read notes.txt")
        const second = yield* goOn([...first.messages, user("read notes.txt")])
        expect(second.rounds).toEqual([["read notes.txt"]])
      })
    )

    it.effect("knows which file is meant by it", () =>
      Effect.gen(function* () {
        const first = yield* ask("read notes.txt")
        const second = yield* goOn([...first.messages, user("how many lines does it have?")])
        expect(second.text).toBe("notes.txt has 3 lines.")
      })
    )

    it.effect("answers a question that was put in while it worked, and the one before", () =>
      Effect.gen(function* () {
        const first = yield* ask("read notes.txt")
        // The transcript up to the results, and then the user again.
        const answer = yield* goOn([...first.messages.slice(0, -1), user("and how long is src/garden.ts?")])
        expect(answer.rounds).toEqual([["read src/garden.ts"]])
        expect(answer.text).toContain("    buy seeds")
        expect(answer.text).toContain("src/garden.ts has 5 lines.")
      })
    )

    it.effect("drops a question that is taken back", () =>
      Effect.gen(function* () {
        const first = yield* ask("read notes.txt")
        const answer = yield* goOn([...first.messages.slice(0, -1), user("no, read empty.txt instead")])
        expect(answer.text).toContain("empty.txt is empty.")
        expect(answer.text).not.toContain("buy seeds")
        const stopped = yield* goOn([...first.messages.slice(0, -1), user("stop")])
        expect(stopped.text).toMatch(/^All right\.\n\n\(This is/)
      })
    )

    it.effect("does not return to a question whose run was aborted", () =>
      Effect.gen(function* () {
        const first = yield* ask("read notes.txt")
        const [question, call] = first.messages
        const aborted = resultOf("call_1_0", "read", "Operation aborted", true)
        const later = yield* goOn([question!, call!, aborted, user("who wrote this?")])
        expect(later.text).not.toContain("notes.txt")
        const partial = assistant([{ type: "text", text: "notes.t" }], "aborted")
        const cut = assistant(call!.role === "assistant" ? call!.content : [], "aborted")
        for (const response of [partial, cut]) {
          const again = yield* goOn([question!, response, user("who wrote this?")])
          expect(again.text).not.toContain("notes.txt")
        }
        // Resumed without a new question, it says what it knows.
        const resumed = yield* goOn([question!, call!, aborted])
        expect(resumed.text).toContain("I could not read notes.txt: Operation aborted")
        expect(resumed.rounds).toEqual([])
      })
    )
  })

  it.effect("takes nothing in a file for a request", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { root } = yield* Workspace
      for (const question of ["read hostile.md", "summarise hostile.md", "what does hostile.md say about watering?"]) {
        const answer = yield* ask(question)
        expect(answer.rounds).toEqual([["read hostile.md"]])
        // What the file says stands only on quoted lines.
        const own = answer.text.split("\n").filter((line) => !line.startsWith("    "))
        for (const line of hostile.split("\n").filter((text) => text !== "")) expect(own).not.toContain(line)
      }
      expect(yield* fs.exists(`${root}/owned`)).toBe(false)
    })
  )
})

describe("the help", () => {
  layer(Layer.empty)((it) => {
    it.effect("names examples that reach their own intent", () =>
      Effect.sync(() => {
        const examples = intents.flatMap((intent) => (intent.example === undefined ? [] : [intent]))
        expect(examples.length).toBeGreaterThan(10)
        for (const intent of examples) {
          const [question, ...others] = parse(intent.example!, [])
          expect(others).toEqual([])
          expect(intents.find(({ recognise }) => recognise(question!) !== undefined)).toBe(intent)
          expect(introduce()).toContain(`- ${intent.example}\n`)
        }
      })
    )
  })
})
