import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Hooks from "../../src/services/Hooks.ts"
import * as Tool from "../../src/Tool.ts"
import * as BashPolicy from "../../src/tools/BashPolicy.ts"
import { call, say } from "../support/make.ts"
import { play } from "../support/play.ts"

const callOf = (args: unknown, name = "bash"): Hooks.BeforeToolCall => ({
  message: {
    role: "assistant",
    content: [],
    provider: "p",
    model: "m",
    stopReason: "toolUse",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    timestamp: 0
  },
  toolCall: { type: "toolCall", id: "call_1", name, arguments: {} },
  args,
  context: { systemPrompt: undefined, messages: [], tools: [] }
})

const decide = <R>(options: BashPolicy.Options<R>, command: string) =>
  BashPolicy.make(options).beforeToolCall!(callOf({ command }))

const verdict = (options: BashPolicy.Options, command: string) => Effect.runSync(decide(options, command))._tag

describe("patterns that allow", () => {
  it.each([
    ["git status", "git status"],
    ["git log *", "git log"],
    ["git log *", "git   log --oneline\t-n 3"],
    ["git log *", `git log --author="A B" 'x y'`],
    ["git *", "git diff 2>&1 | git apply --check; git status && git log >/dev/null 2>/dev/null"],
    ["git *", "git log &>/dev/null # rm -rf /"],
    ["git *", "git log \\\n  --oneline <file"],
    ["git *", "# only a remark\ngit log\n"],
    ["git *", "git log '$(rm -rf /)' \\$HOME \\`"],
    ["npm run *:check", "npm run types:check"],
    ["ls *", "ls *.ts ~"]
  ])("%s allows %s", (pattern, command) => {
    expect(verdict({ allow: [pattern] }, command)).toBe("Allow")
  })

  it.each([
    ["git status", "git status --short"],
    ["git log *", "git logs"],
    ["git *", "git log; rm x"],
    ["git *", "git log & rm x"],
    ["git *", "git log\nrm x"],
    ["git *", "git log | sh"],
    ["git *", "git log $(rm x)"],
    ["git *", 'git log "$(rm x)"'],
    ["git *", "git log `rm x`"],
    ["git *", "git log <(rm x)"],
    ["git *", "git $X"],
    ["git *", 'git "$X"'],
    ["git *", "git {push,origin}"],
    ["git *", "GIT_PAGER=rm git log"],
    ["git *", "git log > file"],
    ["git *", "git log >> file"],
    ["git *", "git log 2> file"],
    ["git *", "git log &> file"],
    ["git *", "git log >& file"],
    ["git *", "git log >| file"],
    ["git *", "git log <<EOF\nEOF"],
    ["git *", "(git log)"],
    ["git *", "git() { rm x; }; git"],
    ["git *", "if git log; then git log; fi"],
    ["git *", "/tmp/git log"],
    ["git *", "git\u00a0log x"],
    ["git *", "git\rlog"],
    ["git *", "git log 'x"],
    ["git *", 'git log "x'],
    ["npm run *:check", "npm run :check:fix"]
  ])("%s does not allow %s", (pattern, command) => {
    expect(verdict({ allow: [pattern] }, command)).toBe("Block")
  })
})

describe("patterns that deny", () => {
  it.each([
    "rm x",
    "rm",
    "  'rm' x",
    "r\\m x",
    'r""m x',
    "/bin/rm x",
    "ls; rm x",
    "ls && rm x",
    "ls | xargs -n 1 rm",
    "ls &\nrm x",
    "$(rm x)",
    'echo "a $(rm x) b"',
    "echo `rm x`",
    "`'`rm x",
    "`echo \\`rm x\\``",
    "cat <(rm x)",
    "(rm x)",
    "{ rm x; }",
    "X=1 rm x",
    "sudo -u root rm x",
    "env -i A=b /bin/rm x",
    "timeout 5 nohup rm x",
    "find . -name x -exec rm {} \\;",
    "if true; then rm x; fi",
    "for f in *; do rm $f; done",
    "! rm x",
    "{rm,-rf,x}",
    "sh -c 'rm x'",
    `bash -lc "cd /; sh -c 'rm x'"`,
    "eval 'rm x'",
    "eval rm x",
    "ssh host 'rm x'",
    "ls | xargs sh -c 'rm x'",
    "bash <<EOF\nrm x\nEOF",
    ">file rm x",
    "2>&1 rm x",
    "f() { rm x; }; f"
  ])("rm * denies %s, whatever is allowed", (command) => {
    const allowing = { allow: ["*"], deny: ["rm *"], ask: () => Effect.succeed(Hooks.allow) }
    expect(verdict(allowing, command)).toBe("Block")
  })

  it.each([
    "ls rm",
    "echo 'rm x'",
    "git commit -m 'rm x'",
    "grep -r 'rm -rf' .",
    "ls # rm x",
    "rmdir x",
    "git rm x",
    "sh -c 'ls; echo rm'"
  ])("rm * does not deny %s", (command) => {
    expect(verdict({ deny: ["rm *"] }, command)).toBe("Allow")
  })

  it("the model is told what was denied, and by which pattern", () => {
    expect(Effect.runSync(decide({ deny: ["git push *"] }, "ls; git push\\\n --force"))).toEqual(
      Hooks.block("git push --force may not be run here (by the pattern git push *).")
    )
    expect(Effect.runSync(decide({ allow: ["ls *"] }, "ls; make a\\\u001bb"))).toEqual(
      Hooks.block('"make a\\u001bb" may not be run here. Allowed: ls *.')
    )
    expect(Effect.runSync(decide({ allow: ["ls *"] }, "ls $X"))).toEqual(
      Hooks.block(
        "Without someone to ask, a command may have no variables, substitutions or files that are written. Allowed: ls *."
      )
    )
    expect(Effect.runSync(decide({ allow: [] }, "ls"))).toEqual(
      Hooks.block("ls may not be run here. No command is allowed.")
    )
  })
})

describe("asking", () => {
  it("who is asked decides about what no pattern decides, and hears what is undecided", () => {
    const asked: Array<unknown> = []
    const policy = (answer: Hooks.ToolCallDecision): BashPolicy.Options => ({
      allow: ["ls *"],
      deny: ["rm *"],
      ask: ({ call, command, undecided }) => {
        asked.push([call.toolCall.id, command, undecided])
        return Effect.succeed(answer)
      }
    })
    const run = (answer: Hooks.ToolCallDecision, command: string) => Effect.runSync(decide(policy(answer), command))
    expect(run(Hooks.block("no"), "ls -l")).toEqual(Hooks.allow)
    expect(run(Hooks.allow, "rm x; make")).toMatchObject({ _tag: "Block" })
    expect(asked).toEqual([])
    expect(run(Hooks.block("not now"), "ls; make x | tee 'a b'")).toEqual(Hooks.block("not now"))
    expect(run(Hooks.allowWith({ command: "ls" }), "ls $X")).toEqual(Hooks.allowWith({ command: "ls" }))
    expect(asked).toEqual([
      ["call_1", "ls; make x | tee 'a b'", ["make x", "tee a b"]],
      ["call_1", "ls $X", []]
    ])
  })

  it.effect("an abort ends the wait for an answer", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const never = decide({ ask: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) }, "make")
      const fiber = yield* Effect.forkChild(never)
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
    })
  )

  it("other tools are not its business, and without any rule everything runs", () => {
    const hook = BashPolicy.make({ allow: [], deny: ["*"] }).beforeToolCall!
    expect(Effect.runSync(hook(callOf({ command: "x" }, "read")))).toEqual(Hooks.allow)
    expect(Effect.runSync(hook(callOf({ path: "x" })))).toEqual(Hooks.block("The command cannot be read."))
    expect(verdict({}, "rm -rf $X > y")).toBe("Allow")
  })

  it("a command of 1 MB is refused, and the longest that is not is decided at once", () => {
    const units = ["rm ", "sudo ", "$(", "'a' ", '"$(rm x)" ', "{a,b}", "sh -c '", "xargs ; ", "\\", "> "]
    for (const unit of units) {
      const command = unit.repeat(BashPolicy.MAX_LENGTH).slice(0, BashPolicy.MAX_LENGTH)
      expect(["Allow", "Block"]).toContain(verdict({ allow: ["a * b * c *"], deny: ["x * y * z *"] }, command))
    }
    expect(Effect.runSync(decide({ allow: ["*"] }, "x".repeat(1_000_000)))).toEqual(
      Hooks.block("The command is too long to be looked at. Write it to a file, and run that.")
    )
  })
})

describe("in a run", () => {
  /** Stands for the tool: what gets here was let through. */
  const bash = Tool.make({
    name: "bash",
    description: "Runs.",
    parameters: Schema.Struct({ command: Schema.String }),
    execute: ({ command }) => Effect.succeed(`ran ${command}`)
  })

  it.effect("refused calls have an error result with the reason, and questions come one at a time, in order", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const policy = BashPolicy.make({
        allow: ["ls *"],
        deny: ["rm *"],
        ask: ({ command }) =>
          Effect.gen(function* () {
            asked.push(`${command}?`)
            yield* Effect.sleep("1 minute")
            asked.push(command)
            return command === "make" ? Hooks.allow : Hooks.block("not that")
          })
      })
      const calls = ["ls", "make", "rm x", "make install"].map((command) => call("bash", { command }))
      const trace = yield* play([calls, [say("ok")]], { tools: [bash], hooks: policy })
      expect(trace.resultTexts).toEqual([
        "ran ls",
        "ran make",
        "rm x may not be run here (by the pattern rm *).",
        "not that"
      ])
      expect(trace.results.map(({ isError }) => isError)).toEqual([false, false, true, true])
      expect(asked).toEqual(["make?", "make", "make install?", "make install"])
      expect(trace.reason).toBe("completed")
    })
  )

  it.effect("an abort while somebody is asked ends the run, and the command does not run", () =>
    Effect.gen(function* () {
      const policy = BashPolicy.make({ ask: () => Effect.never })
      const script = [[call("bash", { command: "make" })], [say("ok")]]
      const trace = yield* play(script, { tools: [bash], hooks: policy }, { abortAt: "1 second" })
      expect(trace.reason).toBe("aborted")
      expect(trace.resultTexts).toHaveLength(1)
      expect(trace.resultTexts[0]).not.toContain("ran")
    })
  )
})

describe("against a real shell", () => {
  /** What scripts are made of: a program that is allowed, one that is denied, and what could hide it. */
  const Plain = Schema.Literals([
    ..."safe,evil, , ,;,|,&,&&,||,\n,',\",\\,#,x,2,>,<,!,(,),{,},`,\t".split(","),
    "sh -c ",
    "eval ",
    "/dev/null",
    "2>&1",
    "env ",
    "if ",
    "then "
  ])
  const Expanding = Schema.Literals(["$", "$(", "${", "A=safe", "$A", "$'"])

  const playInShell = (scripts: ReadonlyArray<string>, check: (script: string, ran: ReadonlyArray<string>) => void) => {
    const bin = mkdtempSync(join(tmpdir(), "effect-agent-test-"))
    for (const name of ["safe", "evil"]) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >>"$RAN"\n`)
      chmodSync(join(bin, name), 0o755)
    }
    for (const script of scripts) {
      const cwd = mkdtempSync(join(tmpdir(), "effect-agent-test-"))
      const ran = join(bin, "ran")
      rmSync(ran, { force: true })
      const env = { PATH: `${bin}:/usr/bin:/bin`, RAN: ran }
      // It ends when nobody holds its outputs any more: also what runs in the background.
      spawnSync("bash", ["-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: 5_000 })
      const made = readdirSync(cwd).map((name) => `made ${name}`)
      check(script, [
        ...(existsSync(ran)
          ? readFileSync(ran, "utf8")
              .split("\n")
              .filter((name) => name !== "")
          : []),
        ...made
      ])
      rmSync(cwd, { recursive: true })
    }
    rmSync(bin, { recursive: true })
  }

  const arrays = (pieces: Arbitrary.Arbitrary<string>, maxLength: number) => Arbitrary.array(pieces, { maxLength })

  it.prop(
    "what a pattern allows runs no other program and writes no file",
    [arrays(Arbitrary.schema(Schema.Union([Plain, Expanding])), 9)],
    ([pieces]) => {
      const script = `safe ${pieces.join("")}`
      if (verdict({ allow: ["safe *"] }, script) === "Block") return
      playInShell([script], (_, ran) =>
        expect({ script, ran: ran.filter((what) => what !== "safe") }).toEqual({ script, ran: [] })
      )
    },
    { arbitrary: { runs: 600, seed: 1 } }
  )

  it.prop(
    "a program that is denied does not run, however it is called without variables",
    [arrays(Arbitrary.schema(Plain), 9)],
    ([pieces]) => {
      const script = pieces.join("")
      if (!script.includes("evil") || verdict({ deny: ["evil *"] }, script) === "Block") return
      playInShell([script], (_, ran) =>
        expect({ script, ran: ran.filter((what) => what === "evil") }).toEqual({ script, ran: [] })
      )
    },
    { arbitrary: { runs: 3000, seed: 1 } }
  )
})
