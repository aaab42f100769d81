import assert from "node:assert/strict";
import { test } from "node:test";
import { type Engine, EngineError } from "../../engines/engine.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { checkSpeed } from "./check-speed.ts";

/** An engine with the given durations, measured on the test's clock. */
function pacedEngine(clock: ManualClock, rest: Partial<Engine>): Engine {
  return {
    name: "paced",
    slots: 1,
    models: ["tiny-3b"],
    async generate(_job, sink) {
      clock.advance(250);
      sink.delta("reasoning", "Hmm. ");
      for (let i = 0; i < 10; i++) {
        clock.advance(100);
        sink.delta("answer", "words ");
      }
      return { finish: "stop" };
    },
    async *embed() {
      clock.advance(40);
      yield new Float32Array(1024);
    },
    close: async () => {},
    ...rest,
  };
}

const measured = async (rest: Partial<Engine>, kind: "generation" | "embedding" = "generation") => {
  const clock = new ManualClock();
  return checkSpeed(pacedEngine(clock, rest), kind === "generation" ? "tiny-3b" : "embed-m3", kind, clock);
};

test("measures time to first token and tokens per second, counted with the engine's own tokenizer if available", async () => {
  assert.deepEqual(await measured({ tokens: async () => [...Array(40).keys()] }), {
    ...{ name: "speed", verdict: "ok" },
    detail: "tiny-3b: first token after 250 ms, about 40.0 tokens/s",
  });
  assert.match((await measured({})).detail, /about 16\.3 tokens\/s/);
});

test("measures embeddings as vectors per second", async () => {
  assert.equal((await measured({}, "embedding")).detail, "embed-m3: a vector of 1024 numbers took 40 ms");
});

test("warns about slow engines, and reports a failure for engines that fail or do not answer", async () => {
  const clock = new ManualClock();
  const late = pacedEngine(clock, {
    async generate(_job, sink) {
      clock.advance(5_000);
      sink.delta("answer", "finally, many words at once and more of them");
      return { finish: "stop" };
    },
  });
  assert.equal((await checkSpeed(late, "tiny-3b", "generation", clock)).verdict, "warn");
  const slow = await measured({ tokens: async () => [1, 2, 3] });
  assert.deepEqual([slow.verdict, /smaller model/.test(slow.next ?? "")], ["warn", true]);
  const silent = await measured({ generate: async () => ({ finish: "stop" }) });
  assert.deepEqual([silent.verdict, silent.detail], ["fail", "tiny-3b: the engine returned no text"]);
  const failing = await measured({ generate: () => Promise.reject(new EngineError("engine", "out of memory")) });
  assert.deepEqual([failing.verdict, failing.detail], ["fail", "tiny-3b: out of memory"]);
  const broken = await measured({ generate: () => Promise.reject(new Error("a prompt")) });
  assert.equal(broken.detail, "tiny-3b: the engine failed");
});

test("the speed check cancels an answer that does not end, and fails", async () => {
  const clock = new ManualClock();
  const endless = pacedEngine(clock, {
    generate: (_job, sink, signal) =>
      new Promise((resolve) => {
        sink.delta("answer", "and so on");
        signal.addEventListener("abort", () => resolve({ finish: "stop" }));
      }),
  });
  const check = checkSpeed(endless, "tiny-3b", "generation", clock);
  clock.advance(60_000);
  assert.deepEqual(await check.then(({ verdict, detail }) => [verdict, detail]), [
    "fail",
    "tiny-3b: no complete answer within 60 s",
  ]);
});
