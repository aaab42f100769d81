import assert from "node:assert/strict";
import { test } from "node:test";
import { sendJson } from "../testing/stub-http.ts";
import { earningsCommand } from "./earnings.ts";
import { parseDayOrTime } from "./parse-arguments.ts";
import { makeLoggedInHarness } from "./testing/command-harness.ts";
import { STUB_NODE_ID, type StubGateway } from "./testing/stub-gateway.ts";

const row = (i: number, earned_micro = "9830.400000") => ({
  request_id: `req_${i}`,
  node: STUB_NODE_ID,
  model: "tiny-3b",
  finished_at: 1_794_725_422 + i,
  prompt_tokens: 1200,
  completion_tokens: 100,
  outcome: "ok",
  earned_micro,
  own: false,
});

const BALANCE = { earned_micro: "1500000.000000", paid_out_micro: "1000000.000000", pending_micro: "500000.000000" };

/** Serves rows in pages as the gateway does. */
function serve(gateway: StubGateway, rows: object[]): void {
  gateway.answers["GET /earnings"] = (request: { path: string }, response: Parameters<typeof sendJson>[0]) => {
    const query = new URL(request.path, "http://g").searchParams;
    const [at, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit") ?? 50)];
    assert.ok(limit >= 1 && limit <= 100, "a limit that the gateway takes");
    const next_cursor = at + limit < rows.length ? String(at + limit) : null;
    sendJson(response, {
      object: "list",
      balance: BALANCE,
      today_micro: "250.000000",
      data: rows.slice(at, at + limit),
      next_cursor,
    });
  };
}

test("earnings prints the balance and the latest requests with exact amounts", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  serve(gateway, [row(1), row(2, "0.000001")]);
  assert.equal(await run(earningsCommand), 0);
  assert.deepEqual(terminal.lines, [
    "today     $0.00025",
    "earned    $1.50",
    "paid out  $1.00",
    "pending   $0.50",
    "",
    "finished (UTC)       request  model    prompt  output  outcome           earned",
    "2026-11-15 06:50:23  req_1    tiny-3b   1,200     100  ok       $0.009830400000",
    "2026-11-15 06:50:24  req_2    tiny-3b   1,200     100  ok       $0.000000000001",
    "",
    "2 requests, $0.009830400001",
  ]);
  assert.deepEqual(gateway.calls, ["GET /earnings?limit=20"]);
});

test("earnings prints held-back, set-off and own-request amounts only if they are not zero", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers["GET /earnings"] = (_request: unknown, response: Parameters<typeof sendJson>[0]) =>
    sendJson(response, {
      object: "list",
      balance: {
        ...BALANCE,
        own_micro: "250000.000000",
        set_off_micro: "0.000000",
        held_back_micro: "499999.000001",
      },
      today_micro: "0.000000",
      data: [],
      next_cursor: null,
    });
  await run(earningsCommand);
  assert.deepEqual(terminal.lines.slice(1, 4), [
    "earned    $1.50, $0.25 from your own requests",
    "paid out  $1.00",
    "pending   $0.50, $0.499999000001 held back for now",
  ]);
});

test("earnings handles an account without requests, and an account with more requests than it prints", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  serve(gateway, []);
  await run(earningsCommand);
  assert.equal(terminal.lines.at(-1), "no request has earned anything in this period");
  serve(
    gateway,
    Array.from({ length: 30 }, (_, i) => row(i)),
  );
  await run(earningsCommand, "--limit", "3");
  assert.equal(terminal.lines.at(-1), "3 requests, $0.0294912; --limit N shows more, --csv shows all");
});

test("earnings --csv fetches every page, filtered by period and node", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  serve(
    gateway,
    Array.from({ length: 250 }, (_, i) => row(i)),
  );
  assert.equal(
    await run(earningsCommand, "--csv", "--from", "2026-11-01", "--to", "2026-11-30", "--node", STUB_NODE_ID),
    0,
  );
  assert.equal(terminal.lines.length, 251);
  assert.equal(
    terminal.lines[0],
    "finished_at,request_id,node,model,prompt_tokens,completion_tokens,outcome,earned_micro,own",
  );
  assert.equal(
    terminal.lines[1],
    `2026-11-15T06:50:22.000Z,req_0,${STUB_NODE_ID},tiny-3b,1200,100,ok,9830.400000,false`,
  );
  const period = `from=${Date.UTC(2026, 10, 1) / 1000}&to=${Date.UTC(2026, 11, 1) / 1000}`;
  assert.deepEqual(gateway.calls, [
    `GET /earnings?${period}&node=${STUB_NODE_ID}&limit=100`,
    `GET /earnings?${period}&node=${STUB_NODE_ID}&cursor=100&limit=100`,
    `GET /earnings?${period}&node=${STUB_NODE_ID}&cursor=200&limit=100`,
  ]);
});

test("earnings lists withheld shares with their request and reason", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const balance = { ...BALANCE, withheld_micro: "700.000000" };
  const share = { request_id: "req_9", node: STUB_NODE_ID, withheld_at: 1_794_725_422, amount_micro: "700.000000" };
  const released = { ...share, request_id: "req_8", amount_micro: "0.000001", released_at: 1_794_725_500 };
  gateway.answers["GET /earnings"] = { object: "list", balance, today_micro: "0", data: [row(1)], next_cursor: null };
  const data = [
    { ...share, explanation: "The node reported a failure.", released_at: null },
    { ...released, explanation: "The node failed a \u001b[2Jspot check." },
  ];
  gateway.answers["GET /withheld"] = { object: "list", data, next_cursor: null };
  assert.equal(await run(earningsCommand), 0);
  assert.deepEqual(terminal.lines.slice(4, 9), [
    "withheld  $0.0007",
    "",
    "withheld (UTC)       request            share  reason",
    "2026-11-15 06:50:22  req_9    $0.000700000000  The node reported a failure.",
    "2026-11-15 06:50:22  req_8    $0.000000000001  The node failed a  [2Jspot check. Released.",
  ]);
  assert.deepEqual(gateway.calls.slice(-1), ["GET /withheld?limit=20"]);
});

test("earnings --json returns the balance and every request, also those beyond the first page", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const rows = Array.from({ length: 101 }, (_, i) => row(i));
  serve(gateway, rows);
  await run(earningsCommand, "--json");
  assert.deepEqual(terminal.json(), {
    balance: BALANCE,
    today_micro: "250.000000",
    data: rows,
    withheld: [],
    more: false,
  });
});

test("earnings names the flag that contains a mistake", async (t) => {
  const { fails } = await makeLoggedInHarness(t);
  const cases: [string[], RegExp][] = [
    [["--from", "yesterday"], /^--from must be a day/],
    [["--to", "2026-02-30"], /^--to must be a day/],
    [["--from", "2026-11-02", "--to", "2026-11-01"], /^--from must be before --to/],
    [["--limit", "0"], /^--limit/],
    [["--csv", "--json"], /^--csv and --json/],
    [["--node", "box"], /^--node/],
  ];
  for (const [args, line] of cases) {
    const { message, exitCode } = await fails(earningsCommand, ...args);
    assert.match(message, line);
    assert.equal(exitCode, 2);
  }
});

test("earnings uses UTC days and includes the last day of the period", () => {
  const never = (mistake: string): undefined => assert.fail(mistake);
  assert.equal(parseDayOrTime("from", "2026-11-15", "begin", never), 1_794_700_800);
  assert.equal(parseDayOrTime("to", "2026-11-15", "end", never), 1_794_787_200);
  assert.equal(parseDayOrTime("to", "2026-11-15T06:50:22Z", "end", never), 1_794_725_422);
  assert.equal(parseDayOrTime("to", "2026-11-15T07:50+01:00", "end", never), 1_794_725_400);
  assert.equal(parseDayOrTime("to", undefined, "end", never), undefined);
});
