import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import type { FoundEngine } from "../engines/detect-engines.ts";
import type { EngineAbsence } from "../engines/engine-absence.ts";
import { genericProfile } from "../engines/profiles/generic-engine.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { type EngineSearchContext, openLocalEngine } from "./open-local-engine.ts";

const wanted = {
  engine: "auto" as const,
  engineUrl: undefined,
  engineKey: undefined,
  map: new Map<string, string>(),
  models: ["tiny-3b"],
  slots: undefined,
  settled: true,
  demoFallback: false,
};
const OLLAMA = "http://127.0.0.1:7777";

const holding = (...models: string[]): FoundEngine => ({
  name: "ollama at 127.0.0.1:7777",
  url: OLLAMA,
  kind: "ollama",
  profile: genericProfile,
  models,
  details: [],
  slots: 1,
  slotsTold: true,
});
const absence = (cause: EngineAbsence["cause"], url = OLLAMA): EngineAbsence => ({
  cause,
  url,
  what: `it is ${cause}`,
  next: "do",
});

function machine(found: FoundEngine[], absences: EngineAbsence[] = [], env: EngineSearchContext["env"] = {}) {
  const terminal = new FakeTerminal();
  const lookedAt: string[] = [];
  const made: EngineSearchContext & { clock: ManualClock } = {
    clock: new ManualClock(),
    env,
    terminal,
    findEngines: async ({ ollama }) => {
      lookedAt.push(ollama);
      return found;
    },
    findAbsences: async () => absences,
  };
  return { ...made, terminal, lookedAt };
}

test("engines are looked up at the addresses stored by tollgate-host elect, or at OLLAMA_HOST with a notice", async () => {
  const addresses = { ollama: OLLAMA };
  const quiet = machine([holding("llama3.2:3b")]);
  const { sources } = await openLocalEngine({ ...wanted, addresses }, quiet);
  assert.deepEqual([quiet.lookedAt, quiet.terminal.remarks], [[OLLAMA], []]);
  assert.deepEqual(sources, [{ kind: "ollama", url: OLLAMA, models: ["tiny-3b"] }]);
  const told = machine([holding("llama3.2:3b")], [], { OLLAMA_HOST: "127.0.0.1:8888" });
  await openLocalEngine({ ...wanted, addresses }, told);
  assert.deepEqual(told.lookedAt, ["http://127.0.0.1:8888"]);
  assert.deepEqual(told.terminal.remarks, [
    `tollgate-host: looking for Ollama at http://127.0.0.1:8888 (OLLAMA_HOST), but the models were chosen with Ollama at ${OLLAMA}`,
  ]);
});

test("tollgate-host up waits for an engine that is loading, and prints a line every five seconds", async () => {
  const found: FoundEngine[] = [];
  const here = machine(found, [absence("loading")]);
  const { clock } = here;
  const lines: string[] = [];
  const findEngines: EngineSearchContext["findEngines"] = async () => {
    if (clock.monotonic() - startedAt >= 11_000) found.push(holding("llama3.2:3b"));
    clock.soon(() => clock.advance(1_000));
    return found;
  };
  const startedAt = clock.monotonic();
  const patience = {
    waitMs: Number.POSITIVE_INFINITY,
    tell: (line: string) => lines.push(line),
    signal: new AbortController().signal,
  };
  const { models } = await openLocalEngine(wanted, { ...here, findEngines }, patience);
  assert.deepEqual(models, ["tiny-3b"]);
  assert.deepEqual(
    lines,
    [0, 5, 10].map((s) => `it is loading; ${s} s so far`),
  );
});

test("tollgate-host up stops waiting at its time limit (at once if the limit is zero) and on a request to stop", async () => {
  const here = machine([], [absence("loading")]);
  const { clock } = here;
  let looks = 0;
  const findEngines: EngineSearchContext["findEngines"] = async () => {
    looks++;
    clock.soon(() => clock.advance(1_000));
    return [];
  };
  const waiting = { ...here, findEngines };
  const loading = { message: "it is loading", next: "do" };
  const stop = new AbortController();
  await assert.rejects(openLocalEngine(wanted, waiting, { waitMs: 3_000, tell() {}, signal: stop.signal }), loading);
  assert.equal(looks, 4);
  await assert.rejects(openLocalEngine(wanted, waiting), loading);
  assert.equal(looks, 5);
  const told = openLocalEngine(wanted, here, { waitMs: 1e9, tell: () => stop.abort(), signal: stop.signal });
  await assert.rejects(told, loading);
});

const failing = async (
  here: EngineSearchContext,
  more: { addresses?: Record<string, string>; settled?: boolean } = {},
): Promise<CommandError> => {
  const error: unknown = await openLocalEngine({ ...wanted, ...more }, here).then(
    () => undefined,
    (reason) => reason,
  );
  assert.ok(error instanceof CommandError);
  return error;
};
const MISSING = "no engine on this machine has a model of the catalogue";

test("tollgate-host up stops if an engine is missing, with a line per searched address, and mentions --engine demo", async () => {
  const here = machine([], [absence("unreachable"), absence("stranger", "http://127.0.0.1:8080")]);
  const { message, details, next } = await failing(here, { addresses: { ollama: OLLAMA } });
  assert.equal(message, MISSING);
  assert.deepEqual(details, [
    "ollama: it is unreachable",
    "llama-server, MLX: it is stranger",
    "LM Studio: the server at 127.0.0.1:1234 is a different engine",
    "vLLM: the server at 127.0.0.1:8000 is a different engine",
  ]);
  assert.match(next ?? "", /^start the engine, or choose the models again .*--engine demo/);
  const unsettled = await failing(here, { settled: false });
  assert.match(unsettled.next ?? "", /^start an engine .*--engine-url URL; --engine demo/);
});

test("tollgate-host up lists the models of an engine that has none of the chosen models", async () => {
  const addresses = { ollama: OLLAMA };
  const empty = await failing(machine([holding()]), { addresses });
  assert.deepEqual([empty.message, empty.details[0]], [MISSING, "ollama at 127.0.0.1:7777 lists no model"]);
  const others = await failing(machine([holding("bge-m3")]), { addresses });
  assert.equal(others.message, "no engine on this machine has tiny-3b now");
  assert.equal(others.details[0], "ollama at 127.0.0.1:7777 lists bge-m3");
});

test("an engine that requires a key must be named with --engine, and a remote OLLAMA_HOST is ignored", async () => {
  const key = await failing(machine([], [absence("key")], { OLLAMA_HOST: "127.0.0.1:7777" }));
  assert.equal(
    key.next,
    `name the engine: --engine openai --engine-url ${OLLAMA}, and set TOLLGATE_ENGINE_KEY to its key`,
  );
  const elsewhere = await failing(machine([], [], { OLLAMA_HOST: "gpu-box.lan:11434" }), { settled: false });
  assert.equal(
    elsewhere.details.at(-1),
    "OLLAMA_HOST names another machine, but tollgate-host looks for engines on this machine only",
  );
  assert.match(elsewhere.next ?? "", /--engine-url/);
});

test("tollgate-host elect waits for any engine that is loading, tollgate-host up only for a chosen engine", async () => {
  const addresses = { ollama: OLLAMA };
  const stranger = machine([], [absence("loading", "http://127.0.0.1:8080")]);
  assert.equal((await failing(stranger, { addresses })).message, MISSING);
  assert.equal((await failing(stranger, { addresses, settled: false })).message, "it is loading");
});
