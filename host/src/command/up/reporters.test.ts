import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import type { AgentSnapshot } from "../../agent/agent-snapshot.ts";
import { scriptedEngine } from "../../engines/scripted-engine.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import type { NodeStatsAnswer } from "../gateway/gateway-answers.ts";
import { STUB_NODE_ID, STUB_NODE_STATS } from "../testing/stub-gateway.ts";
import type { Reporter } from "./reporter.ts";
import { createReporter, watchStats } from "./up.ts";

const snapshot: AgentSnapshot = {
  ...{ state: "online", slots: 4, slotsMax: 4, busy: 0, models: ["tiny-3b"], elected: ["tiny-3b"] },
  ...{ jobsDone: 0, jobsFailed: 0, jobsCancelled: 0, jobsRefused: 0, tokensPerSecond: 0, running: [] },
};
const paused: NodeStatsAnswer = { ...STUB_NODE_STATS, state: "paused" };

function reporter(options: { watched?: boolean; json?: boolean }) {
  const terminal = new FakeTerminal({ watched: options.watched ?? false });
  const clock = new ManualClock();
  const made = createReporter({ json: options.json ?? false, logLevel: "warn" }, { terminal, clock } as never);
  return { terminal, clock, reporter: made };
}

/** Every event of a node's life, in order. */
function live(reporter: Reporter, clock: ManualClock): void {
  reporter.engine({ ...scriptedEngine({ models: ["tiny-3b"], slots: 4, clock }), notes: ["the context is short"] });
  reporter.node({ node: STUB_NODE_ID, gateway: "http://g", models: ["tiny-3b"] });
  reporter.serving(() => snapshot);
  reporter.status({ type: "online" });
  reporter.stats(STUB_NODE_STATS);
  reporter.stats(paused);
  reporter.stats(paused);
  reporter.stats(STUB_NODE_STATS);
  reporter.status({ type: "offline", reason: new Error("cut.\nmore") });
  reporter.status({ type: "trouble", reason: new Error("no route") });
  reporter.status({ type: "trouble", reason: new Error("no route") });
  reporter.statsMissing(new Error("cannot reach the gateway"));
  reporter.stopping();
  reporter.stopped();
  reporter.close();
}

test("the line reporter prints once that another node's quarantine keeps the node from getting requests", () => {
  const { terminal, reporter: plain } = reporter({});
  const withheld: NodeStatsAnswer = {
    ...STUB_NODE_STATS,
    state: "ready",
    connected: false,
    withheld: "host_quarantine",
  };
  for (const stats of [withheld, withheld, STUB_NODE_STATS]) plain.stats(stats);
  assert.deepEqual(terminal.lines, [
    "blocked  this node gets no requests: this node was registered while another of your nodes was in quarantine; next: tollgate-host status",
    "online   accepting requests again",
  ]);
});

test("the line reporter prints one line for each change of the node's state", () => {
  const { terminal, clock, reporter: plain } = reporter({});
  live(plain, clock);
  assert.deepEqual(terminal.lines, [
    "engine   scripted, 4 at once",
    "note     the context is short",
    `node     ${STUB_NODE_ID} at http://g, serving tiny-3b`,
    "online   waiting for requests",
    "paused   this node gets no new requests; tollgate-host resume ends the pause",
    "online   accepting requests again",
    "offline  cut; reconnecting",
    "offline  no route; trying again",
    "stopping when the requests in flight have ended; Ctrl-C again stops at once",
    "stopped",
  ]);
  assert.deepEqual(terminal.screens, []);
});

test("the JSON reporter prints one object per line with its time", () => {
  const { terminal, clock, reporter: json } = reporter({ watched: true, json: true });
  live(json, clock);
  const lines = terminal.lines.map((line) => JSON.parse(line));
  const types = lines.map(({ type }) => type);
  assert.deepEqual(types.slice(0, 4), ["engine", "node", "online", "stats"]);
  assert.deepEqual(types.slice(-4), ["trouble", "stats_missing", "stopping", "stopped"]);
  assert.deepEqual(lines[1], {
    type: "node",
    at: "1970-01-01T00:16:40.000Z",
    node: STUB_NODE_ID,
    gateway: "http://g",
    models: ["tiny-3b"],
  });
  assert.deepEqual(lines[3].agent, snapshot);
  assert.equal(lines[3].gateway.today.earned_micro, "123.450000");
});

test("the screen reporter redraws the screen on changes and every second, and shows log lines as events", () => {
  const { terminal, clock, reporter: screen } = reporter({ watched: true });
  screen.engine(scriptedEngine({ models: ["tiny-3b"], slots: 4, clock }));
  screen.node({ node: STUB_NODE_ID, gateway: "http://g", models: ["tiny-3b"] });
  assert.equal(terminal.screens.length, 0, "nothing is drawn before there is an agent");
  screen.serving(() => snapshot);
  const drawn = terminal.screens.length;
  clock.advance(3_000);
  assert.equal(terminal.screens.length, drawn + 3);
  screen.status({ type: "trouble", reason: new Error("no route") });
  screen.status({ type: "trouble", reason: new Error("no route") });
  screen.status({ type: "online" });
  screen.stats(paused);
  screen.log.warn({ reason: "no header" }, "a frame from the plane is malformed");
  screen.log.warn({ job: "j-01", model: "tiny-3b", cause: "engine", message: "out of memory" }, "job failed");
  screen.statsMissing(new Error("gone"));
  screen.statsMissing(new Error("gone"));
  const last = terminal.screens.at(-1)?.join("\n") ?? "";
  for (const text of [
    "paused, 0 of 4 slots busy",
    "$0.00012345 today",
    "a frame from the plane is malformed: no header",
    "job failed (tiny-3b): out of memory",
  ])
    assert.ok(last.includes(text), text);
  for (const text of ["the gateway did not report", "offline: no route; trying again"])
    assert.equal(last.split(text).length, 2, `said once: ${text}`);
  screen.stopped();
  const ended = terminal.screens.length;
  clock.advance(5_000);
  assert.equal(terminal.screens.length, ended, "nothing is drawn after the end");
  assert.equal(terminal.lines.at(-1), "stopped");
});

test("fetching statistics sends the gateway one request at a time, and none after the command has ended", async () => {
  const clock = new ManualClock();
  const heard: string[] = [];
  const late = Promise.withResolvers<NodeStatsAnswer>();
  const answers = [
    () => STUB_NODE_STATS,
    () => Promise.reject(new Error("away")),
    () => STUB_NODE_STATS,
    () => late.promise,
  ];
  let asked = 0;
  const stop = watchStats({
    gateway: {
      stats: async () => {
        const answer = answers[asked++];
        assert.ok(answer, "no more questions than that");
        return answer();
      },
    },
    node: STUB_NODE_ID,
    clock,
    reporter: {
      statsEveryMs: 1_000,
      stats: () => void heard.push("stats"),
      statsMissing: (reason) => void heard.push(reason.message),
    },
  });
  for (let i = 1; i < 4; i++) {
    await new Promise(setImmediate);
    assert.equal(asked, i);
    clock.advance(1_000);
  }
  clock.advance(60_000);
  assert.equal(asked, 4, "while an answer is due nothing is asked");
  stop();
  late.resolve(STUB_NODE_STATS);
  await new Promise(setImmediate);
  clock.advance(60_000);
  assert.deepEqual(heard, ["stats", "away", "stats"]);
});
