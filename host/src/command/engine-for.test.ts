import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import type { Absence } from "../engines/absence.ts";
import type { FoundEngine } from "../engines/detect.ts";
import { generic } from "../engines/profiles/generic.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { EngineMissing, engineFor, type Machine } from "./engine-for.ts";

const wanted = {
  engine: "auto" as const,
  engineUrl: undefined,
  engineKey: undefined,
  map: new Map<string, string>(),
  models: ["tiny-3b"],
  slots: undefined,
  settled: true,
  standIn: false,
};
const OLLAMA = "http://127.0.0.1:7777";

const holding = (...models: string[]): FoundEngine => ({
  name: "ollama at 127.0.0.1:7777",
  url: OLLAMA,
  kind: "ollama",
  profile: generic,
  models,
  details: [],
  slots: 1,
  slotsTold: true,
});
const absence = (cause: Absence["cause"], url = OLLAMA): Absence => ({
  cause,
  url,
  what: `it is ${cause}`,
  next: "do",
});

function machine(found: FoundEngine[], absences: Absence[] = [], env: Machine["env"] = {}) {
  const terminal = new FakeTerminal();
  const lookedAt: string[] = [];
  const made: Machine & { clock: ManualClock } = {
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

test("an engine is looked for where it was elected, and by OLLAMA_HOST with a line that says so", async () => {
  const addresses = { ollama: OLLAMA };
  const quiet = machine([holding("llama3.2:3b")]);
  const { sources } = await engineFor({ ...wanted, addresses }, quiet);
  assert.deepEqual([quiet.lookedAt, quiet.terminal.remarks], [[OLLAMA], []]);
  assert.deepEqual(sources, [{ kind: "ollama", url: OLLAMA, models: ["tiny-3b"] }]);
  const told = machine([holding("llama3.2:3b")], [], { OLLAMA_HOST: "127.0.0.1:8888" });
  await engineFor({ ...wanted, addresses }, told);
  assert.deepEqual(told.lookedAt, ["http://127.0.0.1:8888"]);
  assert.deepEqual(told.terminal.remarks, [
    `tollgate-host: OLLAMA_HOST says that ollama is at http://127.0.0.1:8888; when it was elected it was at ${OLLAMA}`,
  ]);
});

test("an engine that is still loading is waited for, with a line every five seconds", async () => {
  const found: FoundEngine[] = [];
  const here = machine(found, [absence("loading")]);
  const { clock } = here;
  const lines: string[] = [];
  const findEngines: Machine["findEngines"] = async () => {
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
  const { models } = await engineFor(wanted, { ...here, findEngines }, patience);
  assert.deepEqual(models, ["tiny-3b"]);
  assert.deepEqual(
    lines,
    [0, 5, 10].map((s) => `it is loading; ${s} s so far`),
  );
});

test("patience ends: after its time, at once without any, or when told to stop", async () => {
  const here = machine([], [absence("loading")]);
  const { clock } = here;
  let looks = 0;
  const findEngines: Machine["findEngines"] = async () => {
    looks++;
    clock.soon(() => clock.advance(1_000));
    return [];
  };
  const waiting = { ...here, findEngines };
  const loading = { message: "it is loading", next: "do" };
  const stop = new AbortController();
  await assert.rejects(engineFor(wanted, waiting, { waitMs: 3_000, tell() {}, signal: stop.signal }), loading);
  assert.equal(looks, 4);
  await assert.rejects(engineFor(wanted, waiting), loading);
  assert.equal(looks, 5);
  const told = engineFor(wanted, here, { waitMs: 1e9, tell: () => stop.abort(), signal: stop.signal });
  await assert.rejects(told, loading);
});

test("what keeps an engine from being found is said: where it was elected all of it, at usual ports what is an engine's", async () => {
  const says = async (
    here: Machine,
    more: { addresses?: Record<string, string>; settled?: boolean } = {},
  ): Promise<CommandError> => {
    const error: unknown = await engineFor({ ...wanted, ...more }, here).then(
      () => undefined,
      (reason) => reason,
    );
    assert.ok(error instanceof CommandError);
    return error;
  };
  const missing = "no engine on this machine holds a model of the catalogue";
  const addresses = { ollama: OLLAMA };
  const gone = await says(machine([], [absence("unreachable")]), { addresses });
  assert.deepEqual([gone.message, gone.next], [`${missing}: it is unreachable`, "do"]);
  assert.ok((await says(machine([], [absence("unreachable"), absence("stranger")]))) instanceof EngineMissing);
  const said = machine([], [absence("unreachable")], { OLLAMA_HOST: "127.0.0.1:7777" });
  assert.equal((await says(said)).message, `${missing}: it is unreachable`);
  const key = await says(machine([], [absence("key")]));
  assert.deepEqual(
    [key.message, key.next],
    [
      `${missing}: it is key`,
      `name it with --engine openai --engine-url ${OLLAMA}, with its key in TOLLGATE_ENGINE_KEY`,
    ],
  );
  // Another engine's loading is no reason to wait for the one that was elected; for an election it is.
  const stranger = machine([], [absence("loading", "http://127.0.0.1:8080")]);
  assert.ok((await says(stranger, { addresses })) instanceof EngineMissing);
  assert.equal((await says(stranger, { addresses, settled: false })).message, "it is loading");
  const empty = await says(machine([holding()]));
  assert.equal(empty.message, `${missing}: ollama at 127.0.0.1:7777 answers and lists no model`);
  const others = await says(machine([holding("bge-m3")]));
  assert.equal(others.message, "no engine on this machine holds tiny-3b now");
  const elsewhere = await says(machine([], [], { OLLAMA_HOST: "gpu-box.lan:11434" }));
  assert.match(elsewhere.message, /OLLAMA_HOST means another one$/);
  assert.match(elsewhere.next ?? "", /--engine-url/);
});
