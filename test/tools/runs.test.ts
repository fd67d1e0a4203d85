// The tools that search and run, in a run as an application makes it, on real files and processes: what goes wrong for users
// of agents (scenarios C1 to C3, C9 and C10), in one batch. The events obey the grammar.
import { expect, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { spawnSync } from "node:child_process"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import * as Loop from "../../src/Loop.ts"
import type { ToolResultMessage } from "../../src/Message.ts"
import * as Scripted from "../../src/providers/Scripted.ts"
import { Provider } from "../../src/services/Provider.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { KeptOutput } from "../../src/tools/KeptOutput.ts"
import * as Tools from "../../src/tools/Tools.ts"
import { call, model, say, user } from "../support/make.ts"
import { textOf } from "../support/play.ts"
import { folder, services, within } from "./support.ts"

const events = Effect.fnUntraced(function* (turns: ReadonlyArray<Scripted.Turn>) {
  const provider = yield* Scripted.make({ turns })
  return Loop.run({ model, prompts: [user("go")], tools: Tools.coding }).pipe(Stream.provideService(Provider, provider))
})

const resultsOf = (all: ReadonlyArray<AgentEvent>): ReadonlyArray<ToolResultMessage> =>
  all.flatMap((event) => (event.type === "message_end" && event.message.role === "toolResult" ? [event.message] : []))

const bash = (command: string, timeout = 60) => call("bash", { command, timeout })

layer(Layer.provideMerge(KeptOutput.layer, services), { excludeTestServices: true })("a run", (it) => {
  it.effect("with all that goes wrong in one batch goes on, and each call says what happened", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* folder({ a: "-x needle\n", "b/c": "needle\n" })
      yield* fs.symlink("nowhere", `${path}/broken`)
      spawnSync("mkfifo", [`${path}/pipe`])
      const calls = [
        bash("sleep 30 & echo ok"),
        bash("cat; read x; echo read $?"),
        bash("trap '' TERM; echo begun; sleep 30; sleep 30", 0.2),
        bash("kill -SEGV $$"),
        bash("echo FIRST; yes | head -c 100000000; echo LAST"),
        bash("true"),
        bash("printf ' \\n\\t'"),
        call("grep", { pattern: "-x" }),
        call("grep", { pattern: "x(" }),
        call("find", { pattern: "?" }),
        call("ls", {})
      ]
      const run = yield* events([calls, [say("done")]])
      const all = yield* within(path)(Stream.runCollect(run))
      const checker = TraceChecker.recorder()
      for (const event of all) checker.add(event)
      expect(Option.getOrUndefined(checker.check())).toBeUndefined()
      expect(all.at(-1)).toMatchObject({ type: "agent_end", reason: "completed" })

      const results = resultsOf(all)
      expect(results.map(({ content }) => textOf(content))).toEqual([
        "ok\n",
        "read 1\n",
        "begun\n\n[Stopped: it had not ended after 0.2 seconds.]",
        expect.stringMatching(/\[Exit code 139\]$/),
        expect.stringMatching(/^FIRST\ny\n[^]*\n\[The middle is left out of 100,000,011 bytes, [^]*\ny\nLAST\n$/),
        "(no output)",
        "(no output)",
        "a:1:-x needle",
        expect.stringMatching(/unclosed group$/),
        "a\nb/c",
        "a  10\nb/\nbroken@ -> nowhere\npipe|"
      ])
      expect(results.map(({ isError }) => isError)).toEqual(calls.map((_, index) => index === 8))
    })
  )

  it.effect("that is aborted ends its commands, with one result for each call", () =>
    Effect.gen(function* () {
      const path = yield* folder()
      const started = yield* Deferred.make<number>()
      const checker = TraceChecker.recorder()
      const all: Array<AgentEvent> = []
      const run = yield* events([[bash("sleep 1000 & echo $!; wait"), bash("sleep 1000")], [say("done")]])
      const fiber = yield* Stream.runForEach(run, (event) => {
        checker.add(event)
        all.push(event)
        const partial = event.type === "tool_execution_update" ? event.partialResult.content : undefined
        const pid = /^\d+/.exec(textOf(partial || []))?.[0]
        return pid === undefined ? Effect.void : Deferred.succeed(started, Number(pid))
      }).pipe(Effect.uninterruptible, within(path), Effect.forkChild)
      const pid = yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      expect(Option.getOrUndefined(checker.check())).toBeUndefined()
      expect(all.at(-1)).toMatchObject({ type: "agent_end", reason: "aborted" })
      expect(resultsOf(all)).toHaveLength(2)
      expect(spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout).toMatch(/^(Z|$)/)
    })
  )
})
