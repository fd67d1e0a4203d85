// The house rules of src that a type checker does not see: imports go downwards only, the core knows nothing but stable
// modules of effect, errors are values, and whoever switches a check off says why.
import { describe, expect, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { parseAst } from "vitest/node"
import manifest from "../package.json" with { type: "json" }

const contracts = ["data", "services"]
const core = [...contracts, "RetryPolicy", "internal", "Loop", "agent", "Agent", "promise", "index"]

/** The layers, from the bottom up, and what each may import besides itself. */
const layers: Record<string, ReadonlyArray<string>> = {
  data: [],
  services: ["data"],
  RetryPolicy: contracts,
  internal: [...contracts, "RetryPolicy"],
  Loop: [...contracts, "RetryPolicy", "internal"],
  agent: [...contracts, "RetryPolicy", "internal", "Loop"],
  Agent: [...contracts, "internal", "Loop", "agent"],
  promise: [...contracts, "Agent"],
  index: core,
  providers: contracts,
  tools: contracts,
  testing: [...core, "providers", "tools"],
  cli: [...core, "providers", "tools", "testing"]
}

/** The layer of a file: its folder in src or, directly in src, its own name. */
const layerOf = (file: string): string => {
  const name = file.split("/")[1]!.replace(/\.ts$/, "")
  return ["Message", "AgentEvent", "AgentState", "Tool"].includes(name) ? "data" : name
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string"

const nodesOf = (node: Node): ReadonlyArray<Node> => [
  node,
  ...Object.values(node)
    .flat()
    .filter(isNode)
    .flatMap((child) => nodesOf(child))
]

const parse = (source: string): ReadonlyArray<Node> => nodesOf(parseAst(source, { lang: "ts" }) as unknown as Node)

/** What a file imports, in any of the ways there are: import, export from, import(), import type and import("…").X. */
const importsOf = (nodes: ReadonlyArray<Node>): ReadonlyArray<string> =>
  nodes
    .filter((node) => isNode(node["source"]) || node.type === "TSExternalModuleReference")
    .map((node) => (node["source"] ?? node["expression"]) as Node)
    .map((specifier) => (typeof specifier["value"] === "string" ? specifier["value"] : "an unknown module"))

const targetOf = (file: string, specifier: string): string => normalize(join(dirname(file), specifier))

const isStable = (module: string): boolean =>
  /@stability stable/.test(readFileSync(`node_modules/effect/src/${module}.ts`, "utf8"))

const checkRelativeImport = (file: string, specifier: string): string | undefined => {
  const from = layerOf(file)
  const target = targetOf(file, specifier)
  if (!target.startsWith("src/")) return "leaves src"
  const to = layerOf(target)
  return from === to || layers[from]!.includes(to) ? undefined : `is not below ${from}`
}

const checkPackageImport = (file: string, specifier: string): string | undefined => {
  if (specifier === "effect") return "is the barrel: import the module, as in effect/Stream"
  if (core.includes(layerOf(file))) {
    const module = /^effect\/([A-Z]\w*)$/.exec(specifier)?.[1]
    if (module === undefined) return "is not for the core"
    return isStable(module) ? undefined : "is not stable, and so not for the core"
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")
  const declared = name in manifest.dependencies || name in manifest.peerDependencies
  return declared || specifier.startsWith("node:") ? undefined : "is not among the dependencies"
}

const checkImport = (file: string, specifier: string): ReadonlyArray<string> => {
  const complaint = specifier.startsWith(".")
    ? checkRelativeImport(file, specifier)
    : checkPackageImport(file, specifier)
  return complaint === undefined ? [] : [`${file}: ${specifier} ${complaint}`]
}

const statements: Record<string, string> = {
  ThrowStatement: "throws: fail with a typed error",
  TryStatement: "uses try: use Effect.try or Effect.tryPromise"
}

const lineOf = (source: string, position: number): number => source.slice(0, position).split("\n").length

const checkStatements = (file: string, source: string, nodes: ReadonlyArray<Node>): ReadonlyArray<string> =>
  nodes.flatMap((node) => {
    const complaint = statements[node.type]
    return complaint === undefined ? [] : [`${file}:${lineOf(source, node.start)} ${complaint}`]
  })

/** Checks are switched off for one line, with a reason: `// oxlint-disable-next-line some/rule -- why`. */
const checkDirectives = (file: string, source: string): ReadonlyArray<string> =>
  source.split("\n").flatMap((line, index) => {
    if (!/(oxlint|eslint)-disable|@effect-diagnostics/.test(line)) return []
    const isGood = /(oxlint-disable|@effect-diagnostics)-(next-)?line .* -- \w/.test(line)
    return isGood ? [] : [`${file}:${index + 1} switches a check off for more than a line, or without a reason`]
  })

const check = (file: string, source: string): ReadonlyArray<string> => {
  if (layers[layerOf(file)] === undefined) return [`${file} is in no layer: give it one in test/architecture.test.ts`]
  const nodes = parse(source)
  return [
    ...importsOf(nodes).flatMap((specifier) => checkImport(file, specifier)),
    ...checkStatements(file, source, nodes),
    ...checkDirectives(file, source)
  ]
}

/** Files that import each other in a circle, types included: what is left when those that import no other are taken away. */
const findCircle = (sources: Record<string, string>): ReadonlyArray<string> => {
  const targets = Object.entries(sources).map(([file, source]) => {
    const relative = importsOf(parse(source)).filter((specifier) => specifier.startsWith("."))
    return [file, relative.map((specifier) => targetOf(file, specifier))] as const
  })
  const withoutLeaves = (rest: typeof targets): typeof targets => {
    const files = new Set(rest.map(([file]) => file))
    const kept = rest.filter(([, imports]) => imports.some((target) => files.has(target)))
    return kept.length === rest.length ? kept : withoutLeaves(kept)
  }
  return withoutLeaves(targets).map(([file]) => file)
}

const sources: Record<string, string> = Object.fromEntries(
  globSync("src/**/*.ts")
    .toSorted()
    .map((file) => [file, readFileSync(file, "utf8")])
)

describe("src", () => {
  it("keeps the house rules", () => {
    expect(Object.entries(sources).flatMap(([file, source]) => check(file, source))).toEqual([])
  })

  it("has no imports in a circle", () => {
    expect(findCircle(sources)).toEqual([])
  })
})

describe("the house rules", () => {
  it.each([
    ["src/Loop.ts", `import * as Stream from "effect/Stream"\nimport { fold } from "./internal/response.ts"`],
    ["src/services/Toolset.ts", `import type * as Tool from "../Tool.ts"\nimport { Provider } from "./Provider.ts"`],
    [
      "src/providers/Anthropic.ts",
      `import Anthropic from "@anthropic-ai/sdk"\nimport * as Sse from "effect/encoding/Sse"`
    ],
    ["src/tools/Grep.ts", `import { rgPath } from "@vscode/ripgrep"\nimport { sep } from "node:path"`],
    ["src/index.ts", `export * as Loop from "./Loop.ts"`],
    ["src/cli/main.ts", `import { run } from "../Loop.ts"\nimport { text } from "./text.ts"`],
    ["src/Agent.ts", `const text = "import x from 'effect/ai'; throw 1" // try { await import("node:fs") }`],
    ["src/Agent.ts", `// oxlint-disable-next-line typescript/no-explicit-any -- erased on purpose`],
    ["src/Agent.ts", `// @effect-${"diagnostics"}-next-line floatingEffect:off -- started for its effect`]
  ])("allow %s: %s", (file, source) => {
    expect(check(file, source)).toEqual([])
  })

  it.each([
    ["src/Loop.ts", `import { Agent } from "./Agent.ts"`, "./Agent.ts is not below Loop"],
    ["src/Loop.ts", `import {\n  a,\n  b\n} from "./cli/main.ts"`, "./cli/main.ts is not below Loop"],
    ["src/Message.ts", `export type {\n  Provider\n} from "./services/Provider.ts"`, "is not below data"],
    ["src/services/Hooks.ts", `export * from "../internal/batch.ts"`, "../internal/batch.ts is not below services"],
    ["src/internal/batch.ts", `type A = import("../Agent.ts").Agent`, "../Agent.ts is not below internal"],
    ["src/providers/Offline.ts", `import * as Read from "../tools/Read.ts"`, "../tools/Read.ts is not below providers"],
    ["src/tools/Read.ts", `const loop = import("../Loop.ts")`, "../Loop.ts is not below tools"],
    ["src/index.ts", `export * as Anthropic from "./providers/Anthropic.ts"`, "is not below index"],
    ["src/Loop.ts", `import { x } from "../test/x.ts"`, "../test/x.ts leaves src"],
    ["src/Loop.ts", `import { Stream } from "effect"`, "effect is the barrel"],
    ["src/cli/main.ts", `import { Stream } from "effect"`, "effect is the barrel"],
    ["src/Tool.ts", `import type * as Ai from "effect/ai/Tool"`, "effect/ai/Tool is not for the core"],
    ["src/Tool.ts", `import * as Ai from "effect/ai"`, "effect/ai is not for the core"],
    ["src/Tool.ts", `import * as FileSystem from "effect/FileSystem"`, "effect/FileSystem is not stable"],
    ["src/Agent.ts", `import { readFile } from "node:fs"`, "node:fs is not for the core"],
    ["src/internal/a.ts", `import Anthropic from "@anthropic-ai/sdk"`, "@anthropic-ai/sdk is not for the core"],
    ["src/tools/Read.ts", `import chalk from "chalk"`, "chalk is not among the dependencies"],
    [
      "src/tools/Read.ts",
      `const x = (name: string) => import(name)`,
      "an unknown module is not among the dependencies"
    ],
    ["src/Message.ts", `const f = () => {\n  throw new Error()\n}`, "src/Message.ts:2 throws"],
    ["src/Message.ts", `try {\n  f()\n} finally {}`, "src/Message.ts:1 uses try"],
    [
      "src/Message.ts",
      `// oxlint-disable-next-line typescript/no-explicit-any`,
      "src/Message.ts:1 switches a check off"
    ],
    ["src/Message.ts", `/* oxlint-disable */`, "src/Message.ts:1 switches a check off"],
    [
      "src/Message.ts",
      `// @effect-${"diagnostics"} floatingEffect:off -- everywhere`,
      "src/Message.ts:1 switches a check off"
    ],
    ["src/Extra.ts", ``, "src/Extra.ts is in no layer"]
  ])("refuse %s: %s", (file, source, complaint) => {
    expect(check(file, source)).toEqual([expect.stringContaining(complaint)])
  })

  it("find a circle", () => {
    const circle = { "src/Tool.ts": `import "./Message.ts"`, "src/Message.ts": `import type {} from "./Tool.ts"` }
    expect(findCircle({ ...circle, "src/AgentEvent.ts": "" })).toEqual(Object.keys(circle))
  })
})
