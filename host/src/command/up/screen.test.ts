import assert from "node:assert/strict";
import { test } from "node:test";
import { createPaint, measureTextWidth, PAINT_WITHOUT_COLORS } from "@tollgate/terminal/terminal-text.ts";
import type { AgentSnapshot } from "../../agent/agent-snapshot.ts";
import type { NodeStatsAnswer } from "../gateway/gateway-answers.ts";
import { STUB_NODE_ID, STUB_NODE_STATS } from "../testing/stub-gateway.ts";
import { renderScreen, type ScreenView } from "./screen.ts";

const AT = Date.parse("2026-11-15T06:50:22Z");

const snapshot: AgentSnapshot = {
  state: "online",
  slots: 4,
  slotsMax: 4,
  busy: 2,
  models: ["tiny-3b", "embed-m3"],
  elected: ["tiny-3b", "embed-m3"],
  jobsDone: 1234,
  jobsFailed: 1,
  jobsCancelled: 2,
  jobsRefused: 0,
  tokensPerSecond: 45.24,
  running: [
    {
      ...{ job: "a-01", model: "tiny-3b", endpoint: "chat", seconds: 3.21 },
      ...{ outputChars: 1024, vectors: 0, promptRead: undefined },
    },
    {
      ...{ job: "b-01", model: "embed-m3", endpoint: "embedding", seconds: 12 },
      ...{ outputChars: 0, vectors: 3, promptRead: undefined },
    },
  ],
};
const view: ScreenView = {
  node: STUB_NODE_ID,
  gateway: "https://gateway.example",
  engine: "ollama at 127.0.0.1:11434",
  snapshot,
  stats: STUB_NODE_STATS,
  uptimeMs: 192_000,
  events: [
    { at: AT, text: "online: waiting for requests" },
    { at: AT + 65_000, text: "a frame from the plane is malformed" },
  ],
};
const space = { columns: 90, rows: 30, paint: PAINT_WITHOUT_COLORS };

test("shows a node that is serving jobs", () => {
  assert.deepEqual(renderScreen(view, space), [
    "Tollgate host, up for 3 min 12 s",
    "",
    `node       ${STUB_NODE_ID} at https://gateway.example`,
    "state      online, 2 of 4 slots busy",
    "engine     ollama at 127.0.0.1:11434",
    "models     tiny-3b, embed-m3",
    "speed      about 45.2 tokens/s over the last ten seconds",
    "requests   1,234 done, 1 failed, 0 refused since the start; 12 billed today",
    "earned     $0.00012345 today",
    "",
    "running    tiny-3b   chat        3.2 s  1,024 characters",
    "           embed-m3  embedding  12.0 s  3 vectors",
    "",
    "events     06:50:22  online: waiting for requests",
    "           06:51:27  a frame from the plane is malformed",
    "",
    "Ctrl-C finishes requests in flight, then stops.",
  ]);
});

test("shows a node that has just started", () => {
  const idle = { ...snapshot, state: "connecting" as const, busy: 0, running: [], jobsDone: 0, tokensPerSecond: 0 };
  const lines = renderScreen({ ...view, snapshot: idle, stats: undefined, events: [] }, space);
  assert.equal(lines[3], "state      connecting, 0 of 4 slots busy");
  assert.equal(lines[7], "requests   0 done, 1 failed, 0 refused since the start");
  assert.equal(lines[8], "earned     –");
  assert.equal(lines[10], "running    nothing");
});

test("shows at the top the state that keeps the node from getting requests", () => {
  const state = (snap: Partial<AgentSnapshot>, gateway: NodeStatsAnswer["state"]): string =>
    renderScreen(
      { ...view, snapshot: { ...snapshot, ...snap }, stats: { ...STUB_NODE_STATS, state: gateway } },
      space,
    )[3] ?? "";
  assert.equal(state({}, "paused"), "state      paused, 2 of 4 slots busy");
  assert.equal(state({}, "quarantined"), "state      quarantined, gets no requests");
  assert.equal(
    state({ slots: 3, slotsMax: 4 }, "online"),
    "state      online, 2 of 3 slots busy (the engine is too slow for 4 requests at once)",
  );
  assert.equal(state({ slots: 0, busy: 0 }, "online"), "state      online, but no engine answers");
  assert.equal(state({ state: "draining" }, "online"), "state      draining, 2 of 4 slots busy");
});

test("names a model whose engine is unreachable", () => {
  const lines = renderScreen({ ...view, snapshot: { ...snapshot, models: ["embed-m3"] } }, space);
  assert.equal(lines[5], "models     embed-m3 (away: tiny-3b)");
});

test("shows a job whose prompt is still being read", () => {
  const [first] = snapshot.running;
  assert.ok(first);
  const running = [
    { ...first, outputChars: 0, promptRead: 0.437 },
    { ...first, outputChars: 0 },
  ];
  const lines = renderScreen({ ...view, snapshot: { ...snapshot, running } }, space);
  assert.equal(lines[10], "running    tiny-3b  chat  3.2 s  reading, 43 %");
  assert.equal(lines[11], "           tiny-3b  chat  3.2 s  reading");
});

test("fits the terminal's width and height for any content", () => {
  const [first] = snapshot.running;
  assert.ok(first);
  const much = {
    ...view,
    snapshot: { ...snapshot, running: Array.from({ length: 40 }, () => first) },
    events: Array.from({ length: 50 }, (_, i) => ({ at: AT, text: `event ${i} `.repeat(30) })),
  };
  for (const rows of [10, 15, 24, 50]) {
    for (const columns of [20, 40, 80, 200]) {
      const lines = renderScreen(much, { rows, columns, paint: createPaint(true) });
      assert.ok(lines.length < rows, `${lines.length} lines in ${rows} rows`);
      if (columns >= 40) for (const line of lines) assert.ok(measureTextWidth(line) <= columns, line);
    }
  }
  const lines = renderScreen(much, { rows: 24, columns: 80, paint: PAINT_WITHOUT_COLORS });
  assert.ok(
    lines.some((line) => /and 36 more/.test(line)),
    "the jobs that find no room are counted",
  );
  assert.match(lines.at(-3) ?? "", /event 49/);
});
