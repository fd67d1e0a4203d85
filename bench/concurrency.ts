/** 10,000 runs at once, in a process of its own for each variant, for the sake of its memory. */
import { spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Loop from "../src/Loop.ts"
import { print } from "./harness.ts"
import { countEvents, echo, model, prompt, provide, turnsOf } from "./support.ts"

const RUNS = 10_000
/** With the last one, which has no call, there are three. */
const TURNS_WITH_CALL = 2
const WAIT_MS = 1
const MAX_MB = 500

const responses = turnsOf(TURNS_WITH_CALL, 1)

const variants: ReadonlyArray<{ readonly name: string; readonly load: () => Promise<() => Promise<number>> }> = [
  {
    name: "Loop.run",
    load: async () => {
      const run = Loop.run({ model, prompts: [prompt], tools: [echo] })
      return () => countEvents(run, "turn_end").pipe(provide(responses, Effect.sleep(WAIT_MS)), Effect.runPromise)
    }
  },
  ...["pi-agent-core 0.80.10", "pi-agent-core 1.6.0"].map((name, index) => ({
    name,
    load: async () => {
      const { countEvents, versions } = await import("./pi.ts")
      const { agentLoop } = versions[index]!
      return () => countEvents(agentLoop, { responses, before: () => sleep(WAIT_MS) }, "turn_end")
    }
  }))
]

interface Measured {
  readonly ms: number
  readonly peakMB: number
}

const measure = async (index: number): Promise<Measured> => {
  const run = await variants[index]!.load()
  const start = process.cpuUsage()
  const counts = await Promise.all(Array.from({ length: RUNS }, run))
  const { user, system } = process.cpuUsage(start)
  if (counts.some((turns) => turns !== TURNS_WITH_CALL + 1)) throw new Error("Not every run had its three turns.")
  return { ms: (user + system) / 1000, peakMB: process.resourceUsage().maxRSS / 1024 }
}

const measureInChild = (index: number): Measured => {
  const child = spawnSync(process.execPath, [import.meta.filename, String(index)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })
  return JSON.parse(child.stdout)
}

const child = process.argv[2]
if (child !== undefined) console.log(JSON.stringify(await measure(Number(child))))
else {
  const measured = variants.map((_, index) => measureInChild(index))
  const [ours] = measured
  const title = `${RUNS} runs at once, three turns each, a provider that waits ${WAIT_MS} ms`
  print(title, [
    ...measured.map(({ ms }, i) => ({
      name: `${variants[i]!.name}, time`,
      value: ms,
      unit: "ms" as const,
      ratio: ms / ours!.ms
    })),
    ...measured.map(({ peakMB }, i) => ({
      name: `${variants[i]!.name}, peak of memory`,
      value: peakMB,
      unit: "MB" as const,
      ratio: peakMB / ours!.peakMB,
      bound: i === 0 ? ({ of: "value", atMost: MAX_MB } as const) : undefined
    }))
  ])
}
