/**
 * Runs a command in a shell, and knows exactly when it has ended and what it printed until then.
 *
 * The shell around the command prints a mark after it, on the same pipe: what came before the mark is the command's
 * output, however late it arrives, and what processes in the background still print is not waited for. Another process
 * passes the output on, so that it alone holds this end of the pipe: it ends with the group, and what has left the group
 * but still has the command's output open holds nothing here.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Processes from "./processes.ts"

/**
 * The command's shell is a child of another, which sees its death by signal as 128 and the signal's number. It joins
 * stderr to stdout before the command starts: two pipes would lose the order in which things were printed. What is sent to
 * the whole group, as by `kill 0`, ends the command but not what stands around it. The redirection is inside the
 * parentheses, since outside some shells print there how the command died.
 */
const WRAPPER = `
run() {
  trap : HUP INT QUIT TERM USR1 USR2
  (if command -v bash >/dev/null 2>&1; then exec bash -c -- "$1" 2>&1; else exec sh -c -- "$1" 2>&1; fi)
  printf '\\036%s %d\\036' "$2" $?
}
trap '' HUP INT QUIT TERM USR1 USR2
if command -v cat >/dev/null 2>&1; then run "$@" | cat; else run "$@"; fi`

/** Starts a command. Its mark is unlike anything that it prints itself. */
export const start = Effect.fnUntraced(function* (
  command: string,
  options: { readonly cwd: string; readonly env: Record<string, string | undefined> }
) {
  const nonce = `${yield* Random.nextInt}:${yield* Random.nextInt}`
  const handle = yield* Processes.start(
    // What the outer shell has to say is about its child, and not from the command.
    ChildProcess.make("sh", ["-c", WRAPPER, "sh", command, nonce], { ...options, stdin: "ignore", stderr: "ignore" })
  )
  return { ...handle, mark: makeMark(nonce) }
})

export interface Mark {
  /** What of the output so far, with this chunk, comes before the mark; and the exit code, once the mark is there. */
  readonly push: (chunk: Uint8Array) => { readonly output: Uint8Array; readonly exitCode?: number | undefined }
  /** What was held back because it could have been the beginning of the mark. */
  readonly rest: () => Uint8Array
}

const SEPARATOR = 0x1e

/** Finds the mark in chunks of bytes. */
export const makeMark = (nonce: string): Mark => {
  const mark = new TextEncoder().encode(`\x1e${nonce} `)
  let held: Uint8Array = new Uint8Array()

  const beginsAt = (data: Uint8Array, at: number) => {
    const length = Math.min(mark.length, data.length - at)
    for (let i = 1; i < length; i++) if (data[at + i] !== mark[i]) return false
    return true
  }

  return {
    push: (chunk) => {
      const data = held.length === 0 ? chunk : concat(held, chunk)
      let at = data.indexOf(SEPARATOR)
      while (at !== -1 && !beginsAt(data, at)) at = data.indexOf(SEPARATOR, at + 1)
      if (at === -1) {
        held = new Uint8Array()
        return { output: data }
      }
      const output = data.subarray(0, at)
      const end = data.indexOf(SEPARATOR, at + 1)
      if (end === -1) {
        held = data.slice(at)
        return { output }
      }
      held = new Uint8Array()
      return { output, exitCode: Number(new TextDecoder().decode(data.subarray(at + mark.length, end))) }
    },
    rest: () => held
  }
}

const concat = (first: Uint8Array, second: Uint8Array): Uint8Array => {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
