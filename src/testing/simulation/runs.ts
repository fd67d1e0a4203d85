/**
 * The recordings of the runs of an agent, from the one recording of all that happened: each has its own events, and knows
 * of what belongs to another run only that it went on.
 */
import type { Activity, Entry, Moment, Recording } from "../Recording.ts"
import type { Journal } from "./journal.ts"
import type { RunOfAgent } from "./listener.ts"
import type { Session } from "./session.ts"

/** What all runs have in common. */
type Common = Pick<Recording, "world" | "tools" | "changes">

const START: Moment = { at: 0, position: 0 }
const NOTHING = { fibers: 0, timers: 0, activities: [] }

export const recordingOf = (common: Common, journal: Journal, session: Session): Recording => {
  const { listener, queued, results, watched, closing } = session
  const { runs, states, idles } = listener
  const [first, ...later] = runs.map((run, index) => sliceOf(common, journal, run, runs[index + 1]))
  return {
    ...(first ?? withoutRun(common, journal, session)),
    changes: common.changes,
    session: { log: journal.log, later, queued, states, idles, watched, results, closing }
  }
}

const sliceOf = (common: Common, journal: Journal, run: RunOfAgent, next: RunOfAgent | undefined): Recording => {
  const { from, start, hearing, end, history, firstEvent } = run
  const until = next?.from ?? Infinity
  const isInside = (position: number) => position >= from && position < until
  return {
    ...common,
    world: firstEvent === 0 ? common.world : { ...common.world, messages: history },
    start,
    log: journal.log.map((entry, position) => entryOf(entry, isInside(position), firstEvent)),
    events: journal.events.slice(firstEvent, next?.firstEvent),
    requests: journal.requests.filter(({ position }) => isInside(position)),
    activities: journal.activities.map((activity) =>
      isInside(rootOf(journal, activity).began.position) ? activity : { ...activity, kind: "other" }
    ),
    stop: hearing.stopping,
    end,
    isWhole: end !== undefined,
    aliveAtEnd: run.aliveAtEnd ?? NOTHING,
    aliveLater: run.aliveLater ?? NOTHING,
    changes: []
  }
}

const entryOf = (entry: Entry, isInside: boolean, firstEvent: number): Entry => {
  if (!isInside) return { at: entry.at, type: "other" }
  return entry.type === "event" ? { ...entry, index: entry.index - firstEvent } : entry
}

const rootOf = ({ activities }: Journal, activity: Activity): Activity => {
  let root = activity
  while (root.parent !== undefined) root = activities[root.parent]!
  return root
}

/** The agent was aborted or closed before its run told anything. */
const withoutRun = (common: Common, journal: Journal, { listener, settled }: Session): Recording => ({
  ...common,
  start: START,
  log: journal.log,
  events: [],
  requests: journal.requests,
  activities: journal.activities,
  stop: listener.next.stopping,
  end: settled,
  isWhole: false,
  aliveAtEnd: NOTHING,
  aliveLater: journal.alive()
})
