/** One log line per request: its fields, its level, and the limit on lines of the same kind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnreachableError } from "../base/dependency.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { noTracing } from "../base/tracing.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { Call } from "./call-interface.ts";
import { openRequestLogger } from "./request-log.ts";

const [ID, KEY, ACCOUNT] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`) as [Uuid, Uuid, Uuid];
const OK = { outcome: "ok", httpStatus: 200, share: "paid" } as const;
const NOBODY = { server: null, attempts: 0, queueMs: null, ttftMs: null };
const COUNTS = { answerTokens: 3, reasoningTokens: 2 };

function open(level: string) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog(level, {
    write(text: string) {
      const { time, ...line } = JSON.parse(text);
      lines.push(line);
    },
  });
  const clock = manualClock();
  const requestLogger = openRequestLogger({ log, clock, tracing: noTracing });
  const begin = () => {
    const call = { id: ID, arrivedAt: clock.monotonic(), headers: {} } as Call;
    return requestLogger.begin("chat", call);
  };
  return { lines, clock, begin };
}

test("the request logger logs a successful request at debug level only", () => {
  const { lines, clock, begin } = open("debug");
  const requestLog = begin();
  requestLog.by({ id: KEY, accountId: ACCOUNT });
  requestLog.asked({ model: "tiny-3b", stream: true, promptTokens: 3 });
  clock.advance(250);
  requestLog.ended(OK, { server: { nodeId: ACCOUNT }, attempts: 1, queueMs: 1.2, ttftMs: 89.7 }, COUNTS);
  requestLog.end();
  const [line] = lines;
  assert.deepEqual(
    { ...line, request: undefined, account: undefined, key: undefined, node: undefined },
    {
      level: 20,
      msg: "request ended",
      request: undefined,
      account: undefined,
      key: undefined,
      endpoint: "chat",
      model: "tiny-3b",
      stream: true,
      promptTokens: 3,
      completionTokens: 5,
      node: undefined,
      attempts: 1,
      outcome: "ok",
      status: 200,
      queueMs: 1,
      ttftMs: 90,
      durationMs: 250,
    },
  );
  assert.match(String(line?.request), /^req_[0-9a-z]{26}$/);
  assert.match(String(line?.account), /^acc_[0-9a-z]{26}$/);
  assert.match(String(line?.key), /^key_[0-9a-z]{26}$/);

  const quiet = open("info");
  const other = quiet.begin();
  other.ended(OK, NOBODY, COUNTS);
  other.end();
  assert.deepEqual(quiet.lines, []);
});

test("the request logger logs each refused or failed request at info level, with the status sent to the client", () => {
  const { lines, begin } = open("info");
  begin().end(fault("invalid_api_key"));
  begin().end(invalidRequest("model", "model is required"));
  begin().end(Object.assign(new Error("no words of it"), { code: "ECONNREFUSED" }));
  begin().end(new TypeError("no words of it"));
  const ended = begin();
  ended.ended({ outcome: "upstream_failed", httpStatus: 502, share: "node_failed" }, NOBODY, COUNTS);
  ended.end(fault("upstream_failed"));
  const unsettled = begin();
  unsettled.ended(OK, NOBODY, COUNTS);
  unsettled.end(new TypeError("no words of it"));
  assert.deepEqual(
    lines.map(({ level, msg, outcome, status }) => [level, msg, outcome, status]),
    [
      [30, "request ended: invalid_api_key", "invalid_api_key", 401],
      [30, "request ended: invalid_request_error", "invalid_request_error", 400],
      [30, "request ended: no_capacity", "no_capacity", 503],
      [30, "request ended: internal_error", "internal_error", 500],
      [30, "request ended: upstream_failed", "upstream_failed", 502],
      [30, "request ended: internal_error", "internal_error", 500],
    ],
  );
  assert.doesNotMatch(JSON.stringify(lines), /no words of it/);
});

test("the request logger logs ten refusals of one key a minute and counts the rest; at debug level it logs all", () => {
  for (const [level, due] of [
    ["info", [10, 0]],
    ["debug", [10, 40]],
  ] as const) {
    const { lines, clock, begin } = open(level);
    for (let n = 0; n < 50; n++) {
      const requestLog = begin();
      requestLog.by({ id: KEY, accountId: ACCOUNT });
      requestLog.end(fault("rate_limit_requests"));
    }
    const at = (number: number) => lines.filter((line) => line.level === number).length;
    assert.deepEqual([at(30), at(20)], due, level);
    clock.advance(60_000);
    const requestLog = begin();
    requestLog.by({ id: KEY, accountId: ACCOUNT });
    requestLog.end(fault("rate_limit_requests"));
    assert.equal(lines.at(-1)?.unsaid, 40);
  }
});

test("the request logger writes one line a minute for requests refused during an outage", () => {
  const { lines, begin } = open("info");
  for (let n = 0; n < 50; n++) {
    const requestLog = begin();
    requestLog.by({ id: `${KEY.slice(0, -2)}${n + 10}` as Uuid, accountId: ACCOUNT });
    requestLog.end(n % 2 === 0 ? new UnreachableError("database", "no words of it") : fault("no_capacity"));
  }
  assert.deepEqual(
    lines.map(({ msg, status }) => [msg, status]),
    [["request ended: no_capacity", 503]],
  );
});
