/** The live screen of `up` as a pure function: what is known in, lines out. */
import type { AgentSnapshot, RunningJob } from "../../agent/snapshot.ts";
import type { Stats } from "../gateway/answers.ts";
import { count, counted, dollars, duration, perSecond } from "../terminal/figures.ts";
import { clip, type Paint, tame } from "../terminal/paint.ts";
import { table } from "../terminal/table.ts";

export interface ScreenView {
  node: string;
  gateway: string;
  engine: string;
  snapshot: AgentSnapshot;
  /** As the gateway last told; undefined before it did. */
  stats: Stats | undefined;
  uptimeMs: number;
  /** The newest last. */
  events: readonly ScreenEvent[];
}

export interface ScreenEvent {
  /** Unix milliseconds. */
  at: number;
  text: string;
}

export interface ScreenSpace {
  columns: number;
  rows: number;
  paint: Paint;
}

const LABEL = 11;
const RUNNING_SHOWN = 6;
const EVENTS_SHOWN = 8;
/** Heading, facts, empty lines and the last line. */
const ROWS_FIXED = 13;

export function renderScreen(view: ScreenView, { columns, rows, paint }: ScreenSpace): string[] {
  const { snapshot, stats } = view;
  // One row stays for the cursor; a screen that is taller than the terminal could not be drawn over.
  const listRows = Math.max(2, rows - 1 - ROWS_FIXED);
  const running = runningLines(snapshot.running, Math.min(RUNNING_SHOWN, Math.ceil(listRows / 2)));
  const eventsShown = Math.min(EVENTS_SHOWN, listRows - running.length);
  const room = Math.max(10, columns - LABEL);
  const fact = (name: string, value: string, colour = (text: string): string => text): string =>
    paint.dim(name.padEnd(LABEL)) + colour(clip(value, room));
  const list = (name: string, lines: readonly string[]): string[] =>
    lines.map((line, i) => fact(i === 0 ? name : "", line));

  const { text, colour } = stateOf(snapshot, stats, paint);
  return [
    paint.strong(clip(`Tollgate host, up for ${duration(view.uptimeMs)}`, columns)),
    "",
    fact("node", `${view.node} at ${view.gateway}`),
    fact("state", text, colour),
    fact("engine", tame(view.engine)),
    fact("models", modelsOf(snapshot)),
    fact("speed", `about ${perSecond(snapshot.tokensPerSecond)} over the last ten seconds`),
    fact("requests", requestsOf(snapshot, stats)),
    fact("earned", stats === undefined ? "–" : `${dollars(stats.today.earned_micro)} today`),
    "",
    ...list("running", running),
    "",
    ...list("events", view.events.slice(-eventsShown).map(eventLine)),
    "",
    paint.dim(clip("Ctrl-C finishes what runs, then stops.", columns)),
  ].slice(0, rows - 1);
}

function stateOf(snapshot: AgentSnapshot, stats: Stats | undefined, paint: Paint) {
  const slots = `${snapshot.busy} of ${counted(snapshot.slots, "slot")} busy`;
  if (snapshot.state === "online") {
    const kept = stats?.state;
    if (kept === "quarantined" || kept === "retired") return { text: `${kept}, gets no requests`, colour: paint.bad };
    if (kept === "paused") return { text: `paused, ${slots}`, colour: paint.warn };
    if (snapshot.slots === 0) return { text: "online, but no engine answers", colour: paint.bad };
    return { text: `online, ${slots}`, colour: paint.good };
  }
  return { text: `${snapshot.state}, ${slots}`, colour: paint.warn };
}

function modelsOf({ models, elected }: AgentSnapshot): string {
  const away = elected.filter((model) => !models.includes(model));
  const served = models.join(", ") || "none";
  return away.length === 0 ? served : `${served} (away: ${away.join(", ")})`;
}

function requestsOf({ jobsDone, jobsFailed, jobsRefused }: AgentSnapshot, stats: Stats | undefined): string {
  const here = `${count(jobsDone)} done, ${count(jobsFailed)} failed, ${count(jobsRefused)} refused since the start`;
  return stats === undefined ? here : `${here}; ${count(stats.today.requests)} billed today`;
}

function runningLines(running: readonly RunningJob[], linesMax: number): string[] {
  if (running.length === 0) return ["nothing"];
  const shown = running.slice(0, running.length <= linesMax ? linesMax : linesMax - 1);
  const rows = shown.map((job) => [job.model, job.endpoint, seconds(job), progressOf(job)]);
  const rest = running.length - rows.length;
  return [...table(rows, ["left", "left", "right"]), ...(rest === 0 ? [] : [`and ${count(rest)} more`])];
}

const seconds = (job: RunningJob): string => `${job.seconds.toFixed(1)} s`;

function progressOf(job: RunningJob): string {
  if (job.vectors > 0) return counted(job.vectors, "vector");
  if (job.outputChars > 0) return counted(job.outputChars, "character");
  return job.promptRead === undefined ? "reading" : `reading, ${Math.floor(job.promptRead * 100)} %`;
}

const eventLine = ({ at, text }: ScreenEvent): string => `${new Date(at).toISOString().slice(11, 19)}  ${tame(text)}`;
