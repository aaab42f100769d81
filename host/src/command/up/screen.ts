/** The live screen of `up`: collects the state and redraws it every second and after changes. */

import { alignRows, type Paint, sanitiseForTerminal, truncate } from "@tollgate/terminal/terminal-text.ts";
import pino from "pino";
import { z } from "zod";
import type { AgentSnapshot, RunningJob } from "../../agent/agent-snapshot.ts";
import type { Log } from "../../log.ts";
import { parseJson } from "../../read-response-body.ts";
import type { CommandContext } from "../command.ts";
import { formatCount, formatCounted, formatDollars, formatDuration, formatPerSecond } from "../format-values.ts";
import type { NodeStatsAnswer } from "../gateway/gateway-answers.ts";
import { describeConnection, describeStanding, type Reporter } from "./reporter.ts";

const DRAW_EVERY_MS = 1_000;
const STATS_EVERY_MS = 10_000;
const EVENTS_KEPT = 50;

export function screenReporter(logLevel: string, context: Pick<CommandContext, "terminal" | "clock">): Reporter {
  const { terminal, clock } = context;
  const startedAt = clock.monotonic();
  const events: ScreenEvent[] = [];
  let engineName = "";
  let place = { node: "", gateway: "" };
  let snapshot: (() => AgentSnapshot) | undefined;
  let stats: NodeStatsAnswer | undefined;
  let standing: string | undefined;
  let silent = false;
  let stopDrawing = (): void => {};

  const draw = (): void => {
    if (snapshot === undefined) return;
    const { columns, rows, paint } = terminal;
    const view = { ...place, engine: engineName, snapshot: snapshot(), stats, events };
    terminal.draw(renderScreen({ ...view, uptimeMs: clock.monotonic() - startedAt }, { columns, rows, paint }));
  };
  const happened = (words: string): void => {
    const text = words.replace(/ {2,}/, ": ").replace(/\s+/g, " ");
    // Repetitions of an event, such as reconnection attempts, share one entry with the latest time.
    if (events.at(-1)?.text === text) events.pop();
    events.push({ at: clock.now(), text });
    if (events.length > EVENTS_KEPT) events.shift();
    draw();
  };
  return {
    log: eventLog(logLevel, happened),
    statsEveryMs: STATS_EVERY_MS,
    waiting: (reason) => terminal.print(`waiting  ${reason}`),
    engine(engine) {
      engineName = engine.name;
      terminal.print(`engine   ${engine.name}, ${engine.slots} at once`);
      for (const note of engine.notes ?? []) happened(note);
    },
    node(at) {
      place = at;
    },
    serving(now) {
      snapshot = now;
      terminal.draw([]);
      stopDrawing = clock.every(DRAW_EVERY_MS, draw);
      draw();
    },
    status: (status) => happened(describeConnection(status)),
    stats(now) {
      const sentence = describeStanding(now);
      if (sentence !== standing) happened(sentence ?? "accepting requests again");
      [stats, standing, silent] = [now, sentence, false];
      draw();
    },
    statsMissing(reason) {
      if (!silent) happened(`the gateway did not report the node's state: ${reason.message}`);
      silent = true;
    },
    stopping: () => happened("stopping: waiting for requests in flight; press Ctrl-C again to stop at once"),
    stopped() {
      draw();
      stopDrawing();
      terminal.print("stopped");
    },
    close: () => stopDrawing(),
  };
}

/** The fields of a log line that the screen shows as an event. */
const LogLine = z.object({
  msg: z.string(),
  model: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

/**
 * A log that shows its messages as events, because log output would break the screen. The messages contain no prompts,
 * outputs or secrets.
 */
function eventLog(level: string, happened: (text: string) => void): Log {
  return pino(
    { level, base: null },
    {
      write(line: string) {
        const entry = LogLine.safeParse(parseJson(line));
        if (!entry.success) return;
        const { msg, model, reason, message } = entry.data;
        const why = reason ?? message;
        happened(`${msg}${model === undefined ? "" : ` (${model})`}${why === undefined ? "" : `: ${why}`}`);
      },
    },
  );
}

export interface ScreenView {
  node: string;
  gateway: string;
  engine: string;
  snapshot: AgentSnapshot;
  /** The gateway's latest statistics. Undefined before the first ones arrive. */
  stats: NodeStatsAnswer | undefined;
  uptimeMs: number;
  /** The events to show, oldest first. */
  events: readonly ScreenEvent[];
}

interface ScreenEvent {
  /** The time in Unix milliseconds. */
  at: number;
  text: string;
}

interface ScreenSpace {
  columns: number;
  rows: number;
  paint: Paint;
}

const LABEL = 11;
const RUNNING_SHOWN = 6;
const EVENTS_SHOWN = 8;
/** The number of rows that are always there: heading, facts, empty lines and the last line. */
const ROWS_FIXED = 13;

/** Draws the screen as lines. A pure function. */
export function renderScreen(view: ScreenView, { columns, rows, paint }: ScreenSpace): string[] {
  const { snapshot, stats } = view;
  // One row stays free for the cursor. A screen that fills the terminal could not be overwritten.
  const listRows = Math.max(2, rows - 1 - ROWS_FIXED);
  const running = runningLines(snapshot.running, Math.min(RUNNING_SHOWN, Math.ceil(listRows / 2)));
  const eventsShown = Math.min(EVENTS_SHOWN, listRows - running.length);
  const room = Math.max(10, columns - LABEL);
  const fact = (name: string, value: string, colour = (text: string): string => text): string =>
    paint.dim(name.padEnd(LABEL)) + colour(truncate(value, room));
  const list = (name: string, lines: readonly string[]): string[] =>
    lines.map((line, i) => fact(i === 0 ? name : "", line));

  const { text, colour } = stateOf(snapshot, stats, paint);
  return [
    paint.strong(truncate(`Tollgate host, up for ${formatDuration(view.uptimeMs)}`, columns)),
    "",
    fact("node", `${view.node} at ${view.gateway}`),
    fact("state", text, colour),
    fact("engine", sanitiseForTerminal(view.engine)),
    fact("models", modelsOf(snapshot)),
    fact("speed", `about ${formatPerSecond(snapshot.tokensPerSecond)} over the last ten seconds`),
    fact("requests", requestsOf(snapshot, stats)),
    fact("earned", stats === undefined ? "–" : `${formatDollars(stats.today.earned_micro)} today`),
    "",
    ...list("running", running),
    "",
    ...list("events", view.events.slice(-eventsShown).map(eventLine)),
    "",
    paint.dim(truncate("Ctrl-C finishes requests in flight, then stops.", columns)),
  ].slice(0, rows - 1);
}

function stateOf(snapshot: AgentSnapshot, stats: NodeStatsAnswer | undefined, paint: Paint) {
  const { slotsMax } = snapshot;
  const fewer =
    slotsMax > snapshot.slots && snapshot.slots > 0 ? ` (the engine is too slow for ${slotsMax} requests at once)` : "";
  const slots = `${snapshot.busy} of ${formatCounted(snapshot.slots, "slot")} busy${fewer}`;
  if (snapshot.state === "online") {
    const nodeState = stats?.state;
    if (nodeState === "quarantined" || nodeState === "retired")
      return { text: `${nodeState}, gets no requests`, colour: paint.bad };
    if (nodeState === "paused") return { text: `paused, ${slots}`, colour: paint.warn };
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

function requestsOf({ jobsDone, jobsFailed, jobsRefused }: AgentSnapshot, stats: NodeStatsAnswer | undefined): string {
  const here = `${formatCount(jobsDone)} done, ${formatCount(jobsFailed)} failed, ${formatCount(jobsRefused)} refused since the start`;
  return stats === undefined ? here : `${here}; ${formatCount(stats.today.requests)} billed today`;
}

function runningLines(running: readonly RunningJob[], linesMax: number): string[] {
  if (running.length === 0) return ["nothing"];
  const shown = running.slice(0, running.length <= linesMax ? linesMax : linesMax - 1);
  const rows = shown.map((job) => [job.model, job.endpoint, seconds(job), progressOf(job)]);
  const rest = running.length - rows.length;
  return [...alignRows(rows, ["left", "left", "right"]), ...(rest === 0 ? [] : [`and ${formatCount(rest)} more`])];
}

const seconds = (job: RunningJob): string => `${job.seconds.toFixed(1)} s`;

function progressOf(job: RunningJob): string {
  if (job.vectors > 0) return formatCounted(job.vectors, "vector");
  if (job.outputChars > 0) return formatCounted(job.outputChars, "character");
  return job.promptRead === undefined ? "reading" : `reading, ${Math.floor(job.promptRead * 100)} %`;
}

const eventLine = ({ at, text }: ScreenEvent): string =>
  `${new Date(at).toISOString().slice(11, 19)}  ${sanitiseForTerminal(text)}`;
