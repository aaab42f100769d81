import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { createLlamaServerStub } from "../testing/engines/llama-server.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { createVllmStub } from "../testing/engines/vllm.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { stubServer, unusedAddress } from "../testing/stub-http.ts";
import type { EngineAvailability } from "./engine.ts";
import { EngineHealth } from "./engine-health.ts";
import { EngineHttp } from "./engine-http.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { vllmProfile } from "./profiles/vllm.ts";

const NAME = "llama3.2:3b";

function harness(
  url: string,
  options: { names?: Map<string, string>; slots?: number; works?: (model: string) => Promise<boolean> } = {},
) {
  const clock = new ManualClock();
  /** Times the health requests. Answers are late only if the test advances this clock. */
  const httpClock = new ManualClock();
  const seen: EngineAvailability[] = [];
  const health = new EngineHealth({
    http: new EngineHttp({ url, clock: httpClock }),
    profile: llamaServerProfile,
    names: options.names ?? new Map([["tiny-3b", NAME]]),
    first: { models: ["tiny-3b"], slots: 2 },
    listed: [NAME],
    slots: options.slots,
    works: options.works ?? (async () => true),
    clock,
  });
  const stop = health.watch((now) => seen.push(now));
  /** Waits for the running check and returns the wait until the next one. */
  const looked = async (): Promise<number> => {
    while (clock.nextInMs === undefined) await waitOneTurn(clock);
    return clock.nextInMs;
  };
  return { clock, httpClock, seen, health, stop, looked };
}

async function engine(t: TestContext) {
  const stub = new StubEngine();
  /** `asked` resolves when a request arrives that the stub does not answer. */
  const state = { hangs: false, asked: Promise.withResolvers<void>() };
  const answer = createLlamaServerStub(stub);
  const url = await stubServer(t, (request, response) => {
    if (state.hangs) state.asked.resolve();
    else answer(request, response);
  });
  return { stub, state, url };
}

test("checks a healthy engine every five seconds, and reports only changes", async (t) => {
  const { stub, url } = await engine(t);
  const { clock, seen, stop, looked } = harness(url);
  for (let i = 0; i < 3; i++) {
    assert.equal(await looked(), 5000);
    clock.advance(5000);
  }
  await looked();
  assert.deepEqual(seen, []);
  stub.slots = 7;
  clock.advance(5000);
  await looked();
  assert.deepEqual(seen, [{ models: ["tiny-3b"], slots: 7 }]);
  stop();
  assert.equal(clock.nextInMs, undefined);
});

test("checks an unreachable engine again soon, and then less and less often, down to the interval of a healthy one", async () => {
  const { clock, seen, stop, looked } = harness(await unusedAddress());
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    waits.push(await looked());
    clock.advance(waits.at(-1) ?? 0);
  }
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
  assert.deepEqual(seen, [{ models: [], slots: 0 }]);
  stop();
});

test("counts an engine as unreachable only after three slow answers", async (t) => {
  const { state, url } = await engine(t);
  const { clock, httpClock, seen, stop, looked } = harness(url);
  const late = async (): Promise<number> => {
    await state.asked.promise;
    state.asked = Promise.withResolvers();
    httpClock.advance(2000);
    return looked();
  };
  await looked();
  state.hangs = true;
  clock.advance(5000);
  for (let i = 0; i < 2; i++) {
    assert.equal(await late(), 1000);
    assert.deepEqual(seen, []);
    clock.advance(1000);
  }
  await late();
  assert.deepEqual(seen, [{ models: [], slots: 0 }]);
  stop();
});

test("checks immediately on request, and once more if another request arrives during the check", async (t) => {
  const { stub, url } = await engine(t);
  const { clock, seen, health, stop, looked } = harness(url);
  await looked();
  stub.loading = true;
  health.check();
  health.check();
  assert.equal(await looked(), 0);
  clock.advance(0);
  await looked();
  assert.deepEqual(seen, [{ models: [], slots: 0 }]);
  stop();
});

test("keeps configured slots, and treats a model that the engine never listed as available while the engine responds", async (t) => {
  const { stub, url } = await engine(t);
  const names = new Map([
    ["tiny-3b", NAME],
    ["mid-14b", "an alias"],
  ]);
  const { seen, stop, looked } = harness(url, { names, slots: 9 });
  await looked();
  assert.deepEqual(seen, [{ models: ["tiny-3b", "mid-14b"], slots: 9 }]);
  stop();
  stub.models = [{ name: "another", contextTokens: 1 }];
  const later = harness(url, { names, slots: 9 });
  await later.looked();
  assert.deepEqual(later.seen, [{ models: ["mid-14b"], slots: 9 }]);
  later.stop();
});

test("limits a full engine for one minute to the number of jobs that ran when it was full", async (t) => {
  const stub = new StubEngine();
  stub.slots = 5;
  const clock = new ManualClock();
  const seen: number[] = [];
  const health = new EngineHealth({
    http: new EngineHttp({ url: await stubServer(t, createVllmStub(stub)), clock: new ManualClock() }),
    profile: vllmProfile,
    names: new Map([["tiny-3b", NAME]]),
    first: { models: ["tiny-3b"], slots: 5 },
    listed: [NAME],
    slots: undefined,
    works: async () => true,
    clock,
  });
  const stop = health.watch(({ slots }) => seen.push(slots));
  const look = async (): Promise<void> => {
    while (clock.nextInMs === undefined) await waitOneTurn(clock);
    clock.advance(5000);
    while (clock.nextInMs === undefined) await waitOneTurn(clock);
  };
  stub.waiting = 2;
  await look();
  stub.waiting = 0;
  for (let i = 0; i < 11; i++) await look();
  assert.deepEqual(seen, [1]);
  await look();
  assert.deepEqual(seen, [1, 5]);
  stop();
});

test("tests a model once after a failed job, and withdraws only that model while the test fails", async (t) => {
  const { url } = await engine(t);
  const names = new Map([
    ["tiny-3b", NAME],
    ["mid-14b", "an alias"],
  ]);
  let lives = false;
  const { clock, seen, health, stop, looked } = harness(url, { names, works: async () => lives });
  await looked();
  health.doubt("mid-14b");
  await waitOneTurn(clock);
  assert.deepEqual(seen.at(-1)?.models, ["tiny-3b"]);
  lives = true;
  clock.advance(1000);
  await waitOneTurn(clock);
  assert.deepEqual(seen.at(-1)?.models, ["tiny-3b", "mid-14b"]);
  stop();
  health.doubt("mid-14b");
  assert.equal(clock.nextInMs, undefined, "nobody looks, nothing is tried");
});
