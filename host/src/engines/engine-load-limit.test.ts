import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "../testing/manual-clock.ts";
import { chatJob, RecordingSink } from "../testing/recording-sink.ts";
import type { Engine, EngineAvailability, GenerationJob, OutputSink } from "./engine.ts";
import { limitEngineLoad } from "./engine-load-limit.ts";

/** An engine whose words and job endings the test triggers. */
class HandMovedEngine {
  readonly jobs: { job: GenerationJob; sink: OutputSink; end: () => void }[] = [];
  changed: (now: EngineAvailability) => void = () => {};
  readonly engine: Engine;

  constructor(slots: number) {
    this.engine = {
      name: "hand-moved",
      slots,
      models: ["tiny-3b"],
      watch: (changed) => {
        this.changed = changed;
        return () => {};
      },
      generate: (job, sink, signal) =>
        new Promise((resolve) => {
          const end = (): void => resolve({ finish: "stop" });
          signal.addEventListener("abort", end);
          this.jobs.push({ job, sink, end });
        }),
      embed: async function* () {},
      close: async () => {},
    };
  }

  speak(from = 0, to = this.jobs.length): void {
    for (const { sink } of this.jobs.slice(from, to)) sink.delta("answer", " word");
  }
}

function open(slots: number) {
  const clock = new ManualClock();
  const inner = new HandMovedEngine(slots);
  const engine = limitEngineLoad(inner.engine, clock);
  const told: EngineAvailability[] = [];
  const stop = engine.watch?.((now) => told.push(now));
  const sinks: RecordingSink[] = [];
  const start = (count: number, signal = new AbortController().signal) =>
    Array.from({ length: count }, () => {
      const sink = new RecordingSink();
      sinks.push(sink);
      return engine.generate(chatJob("hello"), sink, signal);
    });
  return { clock, inner, engine, told, start, sinks, stop };
}

test("the load limit admits 16 prompts at once, and one more for each that has its first token", async () => {
  const { clock, inner, start, sinks } = open(64);
  const answers = start(28);
  await turn();
  assert.equal(inner.jobs.length, 16);
  clock.advance(100);
  inner.speak(0, 3);
  await turn();
  assert.equal(inner.jobs.length, 19);
  // The gateway gets progress reports for jobs that wait.
  clock.advance(1_000);
  assert.deepEqual(sinks[27]?.fractions, [0]);
  inner.speak();
  await turn();
  for (let i = 0; i < 4; i++) {
    clock.advance(50);
    inner.speak();
    await turn();
  }
  assert.equal(inner.jobs.length, 28);
  for (const { end } of inner.jobs) end();
  assert.equal((await Promise.all(answers)).length, 28);
});

test("the load limit admits only one prompt at a time while a running job waits long for its next token", async () => {
  const { clock, inner, start } = open(64);
  start(4);
  await turn();
  inner.speak();
  start(1);
  await turn();
  assert.equal(inner.jobs.length, 5);
  clock.advance(500);
  start(3);
  await turn();
  assert.equal(inner.jobs.length, 5);
  inner.speak(0, 5);
  await turn();
  assert.equal(inner.jobs.length, 8);
});

test("the load limit delays a prompt for at most four seconds", async () => {
  const { clock, inner, start, sinks } = open(64);
  start(18);
  await turn();
  clock.advance(3_750);
  await turn();
  assert.equal(inner.jobs.length, 16);
  clock.advance(250);
  await turn();
  assert.equal(inner.jobs.length, 18);
  assert.deepEqual(sinks[17]?.fractions, [0, 0, 0, 0]);
});

test("the load limit admits the next prompt when a waiting or running job is cancelled", async () => {
  const { inner, start } = open(64);
  start(16);
  await turn();
  const cut = new AbortController();
  const waits = start(2, cut.signal);
  const last = start(1);
  inner.speak(0, 1);
  cut.abort();
  assert.deepEqual(await Promise.all(waits), [{ finish: "stop" }, { finish: "stop" }]);
  await turn();
  assert.equal(inner.jobs.length, 17);
  for (const { end } of inner.jobs) end();
  await Promise.all(last);
});

/** Lets every job output a word every 100 ms for two seconds, so that no prompt is being read. */
async function settle({ clock, inner }: { clock: ManualClock; inner: HandMovedEngine }): Promise<void> {
  for (let ms = 0; ms < 2_000; ms += 100) {
    clock.advance(100);
    inner.speak();
    await turn();
  }
}

test("the load limit announces fewer slots after a long gap between tokens, and more after 5 s of short gaps", async () => {
  const { clock, inner, told, start } = open(16);
  start(16);
  await turn();
  await settle({ clock, inner });
  assert.equal(inner.jobs.length, 16);
  clock.advance(900);
  assert.deepEqual(told, []);
  // A gap counts while it lasts, before the next word arrives.
  clock.advance(100);
  assert.deepEqual(told, [{ models: ["tiny-3b"], slots: 12, slotsMax: 16 }]);
  inner.speak();
  assert.equal(told.length, 1, "the same pause counts once");
  for (let ms = 0; ms < 4_900; ms += 100) {
    clock.advance(100);
    inner.speak();
  }
  assert.equal(told.length, 1);
  for (let ms = 0; ms < 400; ms += 100) {
    clock.advance(100);
    inner.speak();
  }
  assert.deepEqual(told.at(-1), { models: ["tiny-3b"], slots: 15, slotsMax: 16 });
});

test("the load limit keeps its reduced number of slots over an outage of its engine", async () => {
  const { clock, inner, told, start } = open(16);
  start(16);
  await turn();
  await settle({ clock, inner });
  clock.advance(1_000);
  inner.changed({ models: [], slots: 0 });
  inner.changed({ models: ["tiny-3b"], slots: 16 });
  assert.deepEqual(told.slice(1), [
    { models: [], slots: 0 },
    { models: ["tiny-3b"], slots: 12, slotsMax: 16 },
  ]);
});

test("the load limit prevents 2 s gaps between tokens on an engine that needs 3 s to read 64 prompts at once", async () => {
  const READ_MS = 45;
  const STEP_MS = 15;
  /**
   * Simulates an engine whose step reads all waiting prompts before it outputs the next words. Returns the widest gap.
   */
  const widestGap = async (isSteady: boolean): Promise<number> => {
    const clock = new ManualClock();
    const inner = new HandMovedEngine(64);
    const engine = isSteady ? limitEngineLoad(inner.engine, clock) : inner.engine;
    let widest = 0;
    const ask = (): void => {
      let at = Number.POSITIVE_INFINITY;
      const sink: OutputSink = {
        delta: () => {
          widest = Math.max(widest, clock.monotonic() - at);
          at = clock.monotonic();
        },
        progress: () => {},
      };
      void engine.generate(chatJob("x"), sink, new AbortController().signal).then(ask);
    };
    for (let i = 0; i < 64; i++) ask();
    const said = new Map<unknown, number>();
    for (let step = 0; step < 400; step++) {
      await turn();
      const jobs = [...inner.jobs];
      const unread = jobs.filter((job) => !said.has(job)).length;
      clock.advance(STEP_MS + unread * READ_MS);
      for (const job of jobs) {
        const words = (said.get(job) ?? 0) + 1;
        said.set(job, words);
        job.sink.delta("answer", " word");
        // Answers have several lengths, so that new jobs begin at different times.
        if (words < 20 + (jobs.indexOf(job) % 5)) continue;
        inner.jobs.splice(inner.jobs.indexOf(job), 1);
        job.end();
      }
    }
    return widest;
  };
  assert.ok((await widestGap(false)) > 500, "the engine is one that stalls");
  assert.ok((await widestGap(true)) < 1_000);
});
