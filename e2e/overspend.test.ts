/** An account can never spend what it does not have, and a dying gateway can never charge what it did not finish. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeKey } from "@tollgate/stage/accounts.ts";
import { newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { assertBalanced, builder } from "@tollgate/stage/ledger-check.ts";
import { inOne } from "@tollgate/stage/periods.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";

/** Of the hundred, in each round: more than must be running when the kill comes, fewer than the node has slots. */
const LONG_STREAMS = 40;
const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];
/** Short, because the end of it is waited for; what it is by default is the ledger's own test. */
const LEASE_S = 6;
const SHORT_LEASE = { HOLD_LEASE_S: String(LEASE_S) };

interface Refusal {
  code: string;
  message: string;
  required_micro: number;
  available_micro: number;
}

const check = async (dataDir: string): Promise<void> => {
  const proof = tollgate(["admin", "ledger", "check", "--data", dataDir]);
  assert.equal(await proof.ended, 0, proof.output());
};

describe("overspending", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, [...FLAGS, "--nodes", "2"]);
    await raiseLimits(platform);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  // The answer runs into its cap, so that the charge is the whole hold.
  const orders = { tokens: 40, overrun: true, delta_ms: 1 };
  const more = { max_tokens: 20 };
  const records = async (): Promise<number> => (await platform.query("select id from request")).length;

  test("200 requests at once on a key with a budget for 37: 37 are served, 163 refused by the budget's name", async () => {
    const { id } = await builder(platform);
    const limits = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 1000 };
    assert.equal((await chat(platform, orders, more)).status, 200);
    const [record] = await platform.query<{ hold_pico: string }>("select hold_pico from request");
    const price = BigInt(record?.hold_pico ?? 0);
    const { key, before, answers, after } = await inOne("day", async () => {
      const key = await makeKey(platform.query, id, { ...limits, budgetDay: price * 37n + price / 2n });
      const before = await builder(platform);
      const answers = await Promise.all(
        Array.from({ length: 200 }, async () => {
          const response = await chat({ ready: { ...platform.ready, api_key: key.token } }, orders, more);
          return { status: response.status, body: (await response.json()) as { error?: Refusal } };
        }),
      );
      return { key, before, answers, after: await builder(platform) };
    });
    const refused = answers.filter(({ status }) => status !== 200).map(({ body }) => body.error as Refusal);
    assert.deepEqual([answers.length - refused.length, refused.length], [37, 163]);
    for (const { code, message, required_micro, available_micro } of refused) {
      assert.equal(code, "hold_exceeds_balance");
      assert.match(message, /^The daily budget of the API key "made" does not cover this request/);
      assert.ok(available_micro < required_micro, message);
    }
    assert.deepEqual(after, { ...before, balance: before.balance - price * 37n });
    const standing = await platform.query("select day_spent, day_held from key_budget where key_id = $1", [key.id]);
    assert.deepEqual(standing, [{ day_spent: String(price * 37n), day_held: "0" }]);
    await assertBalanced(platform);
    await check(dataDir);
  });

  test("200 requests at once on an account that can afford 37: 37 are served, 163 refused, the balance is exact", async () => {
    // One request to learn the price.
    const before = (await builder(platform)).balance;
    assert.equal((await chat(platform, orders, more)).status, 200);
    const { id, balance } = await builder(platform);
    const price = before - balance;
    const [record] = await platform.query<{ hold_pico: string; charge_pico: string }>(
      "select hold_pico, charge_pico from request order by id desc limit 1",
    );
    assert.deepEqual([record?.hold_pico, record?.charge_pico], [String(price), String(price)]);

    const recorded = await records();
    const left = price * 37n + price / 2n;
    await platform.query("select ledger_transfer(gen_random_uuid(), 'refund', $1, $2, 'test')", [
      id,
      String(balance - left),
    ]);
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const response = await chat(platform, orders, more);
        const body = (await response.json()) as { error?: { code: string } };
        return `${response.status} ${body.error?.code ?? "ok"}`;
      }),
    );
    const count = Map.groupBy(statuses, (status) => status);
    assert.deepEqual(
      new Map([...count].map(([status, all]) => [status, all.length])),
      new Map([
        ["200 ok", 37],
        ["402 hold_exceeds_balance", 163],
      ]),
    );
    assert.deepEqual(await builder(platform), { id, balance: price / 2n, held: 0n });
    assert.equal(await records(), recorded + 37, "a 402 leaves no record");
    await assertBalanced(platform);
    await check(dataDir);
  });
});

describe("gateways that die", () => {
  let dataDir: string;
  let started: Platform | undefined;
  before(async () => {
    dataDir = await newDataDir();
  });
  after(async () => {
    // Where the test failed it is still there, and the file would not end.
    if (started?.process.exitCode === null) started.process.kill("SIGKILL");
    await started?.ended;
    await removeDataDir(dataDir);
  });

  const start = async (): Promise<Platform> => {
    started = await startPlatform(dataDir, FLAGS, SHORT_LEASE);
    return started;
  };

  test("kill -9 in the middle of 100 streams, ten times: after the lease no hold is left, nothing is charged twice", async () => {
    const streams = 100;
    for (let round = 1; round <= 10; round++) {
      const platform = await start();
      await raiseLimits(platform);
      // Some have ended and some are settling when the kill comes; some run longer than anybody looks.
      const orders = (i: number): object =>
        i < LONG_STREAMS ? { tokens: 5000, delta_ms: 100 } : { tokens: 5 * (i - LONG_STREAMS + 1), delta_ms: 4 };
      const ended = Array.from({ length: streams }, (_, i) =>
        chat(platform, orders(i), { stream: true, max_tokens: 5000 })
          .then((response) => response.text())
          .catch(() => undefined),
      );
      await eventually("some have ended and some run", async () => {
        const [row] = await platform.query<{ ended: string; open: string }>(
          "select (select count(*) from request where outcome = 'ok') as ended, (select count(*) from hold) as open",
        );
        return Number(row?.ended) > 20 * round - 20 && Number(row?.open) > 20;
      });
      await platform.kill();
      await Promise.all(ended);
    }
    const last = await start();
    await eventually("every hold has ended", async () => (await builder(last)).held === 0n);
    assert.equal((await last.query("select id from hold")).length, 0);
    await assertBalanced(last);
    // A charge appears once per request; a lost request is never charged.
    assert.deepEqual(
      await last.query("select operation from ledger_entry where kind = 'charge' group by 1 having count(*) > 1"),
      [],
    );
    const lost = await last.query<{ count: string }>(
      "select count(*) from request where outcome = 'gateway_lost' and charge_pico = 0",
    );
    assert.ok(Number(lost[0]?.count) > 100, `${lost[0]?.count} requests were lost with their gateways`);
    assert.deepEqual(
      await last.query("select id from request where outcome = 'gateway_lost' and charge_pico <> 0"),
      [],
    );
    await check(dataDir);
    await last.stop();
  });
});
