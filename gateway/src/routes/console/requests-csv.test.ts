/** The CSV export of requests: its content, and a hundred thousand rows for slow and disconnecting clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get as httpGet, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { insertRefusedRequest, insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const URL = "/console/api/requests.csv";
const ROWS = 100_000;
const PAGE_ROWS = 1000;

let platform: TestPlatform;
let address: string;
before(async () => {
  platform = await openTestPlatform();
  await platform.app.listen({ host: "127.0.0.1", port: 0 });
  address = `http://127.0.0.1:${(platform.app.server.address() as AddressInfo).port}`;
});
after(() => platform.close());

test("the CSV file lists requests and refusals, and escapes a key's name that a spreadsheet would run as a formula", async () => {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = accountIds as [Uuid];
  const at = new Date(Date.now() - 60_000);
  const keyName = '=HYPERLINK("http://evil.test","pay")';
  const id = await insertServedRequest(platform, {
    accountId,
    keyName,
    at,
    hold: 9_830_400_000n,
    charge: 1_234_567n,
    label: "nightly",
  });
  const none = await insertRefusedRequest(platform, { accountId, keyName: "+plain, with a comma" });
  const answer = await browser.send("GET", URL);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/csv; charset=utf-8");
  assert.equal(answer.headers["content-disposition"], 'attachment; filename="requests.csv"');
  const [head, second, first, end] = answer.text.split("\r\n") as [string, string, string, string];
  assert.equal(
    head,
    "id,created_at,finished_at,key,endpoint,model,stream,outcome,http_status,finish_reason,prompt_tokens,completion_tokens,reasoning_tokens,hold_micro,charge_micro,duration_ms,ttft_ms,client,count,label",
  );
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  assert.ok(first.startsWith(`${publicId("req", id)},${at.toISOString()},`), first);
  assert.match(
    first,
    new RegExp(`,${time},"'=HYPERLINK\\(""http://evil.test"",""pay""\\)",chat,tiny-3b,false,ok,200,stop,`),
  );
  assert.ok(first.endsWith(",3,5,1,9830.400000,1.234567,400,30,openai-js,1,nightly"), first);
  assert.ok(second.startsWith(publicId("req", none)), second);
  assert.ok(
    second.includes(`,"'+plain, with a comma",chat,,,rate_limit_requests,429,,0,0,0,0.000000,0.000000,,,`),
    second,
  );
  assert.equal(end, "");
});

test("the CSV file accepts the same filters as the list of requests", async () => {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = accountIds as [Uuid];
  const wanted = await insertServedRequest(platform, { accountId, model: "small-8b", charge: 1n });
  await insertServedRequest(platform, { accountId, model: "tiny-3b" });
  const { text } = await browser.send("GET", `${URL}?model=small-8b&outcome=ok`);
  assert.deepEqual(
    text.split("\r\n").map((line) => line.split(",")[0]),
    ["id", publicId("req", wanted), ""],
  );
});

describe("an export of a hundred thousand rows", () => {
  let owner: Person;
  before(async () => {
    owner = await signInTestPerson(platform, [{ kind: "builder" }]);
    await platform.pool.query(
      `insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, created_at)
       select (lpad(to_hex(1763188200000 + i), 12, '0') || '7000800000000000' || lpad(to_hex(i), 4, '0'))::uuid,
              $1, $1, 'a key', 'chat', 'tiny-3b', false, 'ok', 200, now() from generate_series(1, ${ROWS}) i`,
      [owner.accountIds[0]],
    );
    // In production, autovacuum updates the statistics.
    await platform.pool.query("analyze request");
  });

  /**
   * Starts a CSV download over a real socket that does not read yet. Also returns the server's response, and a function
   * that counts the pages read so far.
   */
  async function open(
    t: TestContext,
  ): Promise<{ answer: IncomingMessage; response: ServerResponse; pages: () => number }> {
    const query = t.mock.method(platform.pool, "query");
    const pages = (): number => query.mock.calls.filter(({ arguments: [sql] }) => isHistory(sql)).length;
    const arrived = once(platform.app.server, "request") as Promise<[IncomingMessage, ServerResponse]>;
    const cookie = [...owner.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const request = httpGet(`${address}${URL}`, { headers: { cookie } });
    const [[, response], [answer]] = await Promise.all([
      arrived,
      once(request, "response") as Promise<[IncomingMessage]>,
    ]);
    assert.equal(answer.statusCode, 200);
    return { answer, response, pages };
  }
  const isHistory = (sql: unknown): boolean => /from request\s+where/.test(String(sql));
  const heldBack = (response: ServerResponse) => eventually("it is held back", () => response.writableNeedDrain);

  test("pauses the query while the client does not read, and sends every row once", async (t) => {
    const { answer, response, pages } = await open(t);
    await heldBack(response);
    const before = pages();
    assert.ok(before < ROWS / PAGE_ROWS, `${before} pages were read ahead`);
    assert.ok(response.writableLength < 1024 * 1024, "one page waits, not the file");
    assert.equal((await owner.browser.send("GET", "/console/api/me")).status, 200, "others are served meanwhile");
    assert.equal(pages(), before, "and no page more was read");
    let [text, peak] = ["", 0];
    answer.setEncoding("utf8");
    for await (const piece of answer) {
      text += piece;
      peak = Math.max(peak, response.writableLength);
    }
    assert.ok(peak < 1024 * 1024, `${peak} bytes waited at once`);
    const ids = text
      .split("\r\n")
      .slice(1, -1)
      .map((line) => line.slice(0, 30));
    assert.equal(ids.length, ROWS);
    assert.equal(new Set(ids).size, ROWS);
    assert.ok(
      ids.every((id, i) => i === 0 || id < (ids[i - 1] as string)),
      "newest first",
    );
    assert.equal(pages(), ROWS / PAGE_ROWS + 1);
  });

  test("ends the query when the client disconnects", async (t) => {
    const { answer, response, pages } = await open(t);
    await heldBack(response);
    const gone = once(response, "close");
    answer.destroy();
    await gone;
    const before = pages();
    for (let i = 0; i < 3; i++) assert.equal((await owner.browser.send("GET", "/console/api/me")).status, 200);
    assert.equal(pages(), before);
    assert.ok(before < ROWS / PAGE_ROWS);
  });

  test("aborts the response when the query fails, so that a partial file is not mistaken for a complete one", async (t) => {
    const query = platform.pool.query.bind(platform.pool) as (...args: unknown[]) => unknown;
    let pages = 0;
    t.mock.method(platform.pool, "query", (...args: unknown[]) => {
      if (!isHistory(args[0]) || ++pages < 3) return query(...args);
      throw new Error("the store is away");
    });
    const cookie = [...owner.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const [answer] = (await once(httpGet(`${address}${URL}`, { headers: { cookie } }), "response")) as [
      IncomingMessage,
    ];
    let text = "";
    answer.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    await assert.rejects(once(answer, "end"), /aborted/);
    assert.doesNotMatch(text, /internal_error/);
  });
});
