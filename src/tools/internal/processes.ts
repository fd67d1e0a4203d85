/**
 * Ends a command with all that it started: its process group and, where the system shows its processes in `/proc`, its
 * whole session, so that what made a group of its own (`timeout`, job control) ends as well. What left the session, with
 * `setsid`, stays.
 *
 * A process counts as gone when it runs no more. That nobody has collected it yet, as in many containers, holds nothing.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as ChildProcess from "effect/process/ChildProcess"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"

/** How long processes that were told to end have before they are killed. */
export const FORCE_KILL_AFTER = Duration.seconds(1)

/** How long killed ones are waited for: the system may hold a process that waits for a disk. */
const LAST_WAIT = Duration.seconds(1)

/** Between two looks at what still runs, in milliseconds. The first pause is the shortest, each next one twice as long. */
const FIRST_PAUSE = 2
const LONGEST_PAUSE = 32

type Handle = ChildProcessSpawner.ChildProcessHandle

/**
 * Starts a command that leads a session of its own. When the scope closes, what is left of it is ended with TERM and,
 * after `FORCE_KILL_AFTER`, KILL; the closing is done as soon as nothing of it runs.
 */
export const start = Effect.fnUntraced(function* (command: ChildProcess.Command) {
  const services = yield* Effect.context<FileSystem.FileSystem | ChildProcessSpawner.ChildProcessSpawner>()
  const handle = yield* Effect.acquireRelease(
    Effect.flatMap(command, (handle) => Effect.map(isLeader(handle.pid), (isVisible) => ({ handle, isVisible }))),
    ({ handle, isVisible }) => Effect.provideContext(end(handle, isVisible), services)
  )
  return { ...handle.handle, end: Effect.provideContext(end(handle.handle, handle.isVisible), services) }
})

const end = (handle: Handle, isVisible: boolean) => (isVisible ? endSession(handle) : endGroup(handle))

const endGroup = (handle: Handle) => Effect.ignore(handle.kill({ forceKillAfter: FORCE_KILL_AFTER }))

const endSession = Effect.fnUntraced(function* (handle: Handle) {
  // The spawner need not end it once more.
  yield* Effect.ignore(handle.unref)
  if (yield* signal(handle, "TERM", FORCE_KILL_AFTER)) return
  yield* signal(handle, "KILL", LAST_WAIT)
})

/** Signals a session, and tells whether it was gone in time. */
const signal = (handle: Handle, name: "TERM" | "KILL", wait: Duration.Duration) =>
  Effect.gen(function* () {
    const told = new Set<number>()
    for (let pause = 0; ; pause = Math.min(Math.max(pause * 2, FIRST_PAUSE), LONGEST_PAUSE)) {
      if (pause > 0) yield* Effect.sleep(pause)
      const alive = yield* members(handle.pid)
      if (alive.length === 0) return
      // What a process starts when it is told to end is its way of ending.
      if (pause > 0 && name === "TERM") continue
      const others = alive.filter((one) => one.group !== handle.pid && !told.has(one.pid))
      if (pause === 0 && others.length < alive.length) {
        yield* Effect.forkScoped(Effect.ignore(handle.kill({ killSignal: `SIG${name}` })), { startImmediately: true })
      }
      if (others.length > 0) yield* tell(name, others)
      for (const { pid } of others) told.add(pid)
    }
  }).pipe(Effect.scoped, Effect.interruptible, Effect.timeoutOption(wait), Effect.map(Option.isSome))

const tell = (name: string, processes: ReadonlyArray<Process>) =>
  Effect.gen(function* () {
    const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const
    const pids = processes.map(({ pid }) => String(pid))
    const handle = yield* ChildProcess.make("sh", ["-c", 'kill -s "$0" "$@"', name, ...pids], options)
    yield* handle.exitCode
  }).pipe(Effect.scoped, Effect.ignore)

// ---------------------------------------------------------------------------------------------------------------------
// What runs
// ---------------------------------------------------------------------------------------------------------------------

interface Process {
  readonly pid: number
  readonly group: number
  readonly session: number
  readonly isAlive: boolean
}

const isLeader = (pid: number): Effect.Effect<boolean, never, FileSystem.FileSystem> =>
  pid === 1 ? Effect.succeed(false) : Effect.map(look(String(pid)), (process) => process?.session === pid)

/** What runs in a session. */
const members: (session: number) => Effect.Effect<ReadonlyArray<Process>, never, FileSystem.FileSystem> =
  Effect.fnUntraced(function* (session) {
    const fs = yield* FileSystem.FileSystem
    const names = yield* Effect.orElseSucceed(fs.readDirectory("/proc"), () => [])
    const pids = names.filter((name) => /^\d+$/.test(name))
    const processes = yield* Effect.forEach(pids, look, { concurrency: 16 })
    return processes.filter((one) => one !== undefined).filter((one) => one.session === session && one.isAlive)
  })

/** See proc_pid_stat(5): number, name in parentheses, state, parent, group, session, and more. */
const look: (pid: string) => Effect.Effect<Process | undefined, never, FileSystem.FileSystem> = Effect.fnUntraced(
  function* (pid) {
    const fs = yield* FileSystem.FileSystem
    const stat = yield* Effect.orElseSucceed(fs.readFileString(`/proc/${pid}/stat`), () => "")
    // The name may have parentheses and blanks in it.
    const [state, , group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if (state === undefined || session === undefined) return undefined
    return { pid: Number(pid), group: Number(group), session: Number(session), isAlive: !/[ZXx]/.test(state) }
  }
)
