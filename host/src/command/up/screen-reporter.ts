/** The live screen: gathers what is known and draws it anew, every second and whenever something changes. */
import pino from "pino";
import { z } from "zod";
import type { AgentSnapshot } from "../../agent/snapshot.ts";
import { parseJson } from "../../http-body.ts";
import type { Log } from "../../log.ts";
import type { CommandContext } from "../command.ts";
import type { Stats } from "../gateway/answers.ts";
import type { Reporter } from "./reporter.ts";
import { renderScreen, type ScreenEvent } from "./screen.ts";
import { lineSentence, standingSentence } from "./sentences.ts";

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
  let stats: Stats | undefined;
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
    // What happens again and again, like tries to get back, is one event with its latest time.
    if (events.at(-1)?.text === text) events.pop();
    events.push({ at: clock.now(), text });
    if (events.length > EVENTS_KEPT) events.shift();
    draw();
  };
  return {
    log: eventLog(logLevel, happened),
    statsEveryMs: STATS_EVERY_MS,
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
    status: (status) => happened(lineSentence(status)),
    stats(now) {
      const sentence = standingSentence(now);
      if (sentence !== standing) happened(sentence ?? "requests come in again");
      [stats, standing, silent] = [now, sentence, false];
      draw();
    },
    statsMissing(reason) {
      if (!silent) happened(`the gateway does not tell how it sees the node: ${reason.message}`);
      silent = true;
    },
    stopping: () => happened("stopping: finishing what runs; Ctrl-C again stops at once"),
    stopped() {
      draw();
      stopDrawing();
      terminal.print("stopped");
    },
    close: () => stopDrawing(),
  };
}

/** What of a log line is worth an event. */
const LogLine = z.object({
  msg: z.string(),
  model: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

/** Log lines would tear the screen: their messages become events. They never hold prompts, outputs or secrets. */
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
