/**
 * PostgreSQL fails over to a standby that had stopped replicating, so recent commits are missing. The gateways enter
 * them again from their journals (recent commits on disk). Then the old primary comes back at the same address without
 * fencing, and is refused.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import {
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  type HostAccount,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, removeDataDir, runTollgate } from "@tollgate/stage/dev-platform.ts";
import { type GatewayProcess, startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { findFreePort, type Process } from "@tollgate/stage/killable-process.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { convertRequestIdToUuid } from "@tollgate/stage/raw-http.ts";
import { type Postgres, startPostgres } from "@tollgate/stage/servers/postgres.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV } from "@tollgate/stage/shared-servers.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { publicId, type Uuid } from "../gateway/src/base/ids.ts";

const MODEL = "tiny-3b";
const ANSWERS = 246;
const AT_ONCE = 6;

describe("a failover that lost recent commits", () => {
  let dataDir: string;
  let postgres: Postgres;
  let gateway: GatewayProcess;
  let node: Process;
  let env: Record<string, string>;
  let account: string;
  let host: HostAccount;
  let key: string;
  before(async () => {
    dataDir = await createDataDir();
    postgres = await startPostgres();
    env = {
      DATABASE_URL: postgres.url,
      KEY_PEPPER: TEST_KEY_PEPPER,
      PAYOUT_HOLD_DAYS: "0",
      ...NO_QUARANTINE_OR_PROBATION_ENV,
    };
    gateway = await startGatewayProcess(dataDir, env);
    host = await openHostAccount(postgres.query);
    account = await openBuilderAccount(postgres.query, DEFAULT_CREDIT_PICO);
    key = (await makeKey(postgres.query, account, HIGH_KEY_LIMITS)).token;
    const ready = { gateway_url: gateway.baseUrl, host_token: host.token };
    node = await startNode({ ready }, { name: "node", model: MODEL, slots: 16 });
  });
  after(async () => {
    await node?.kill();
    await gateway?.stop();
    await postgres?.close();
    await removeDataDir(dataDir);
  });

  const chat = (orders: object, more: object = {}, by = key): Promise<Response> =>
    sendUserMessage(gateway, by, { model: MODEL, prompt: makeScriptPrompt(orders), ...more });
  /** Sends requests and returns the IDs of those with a complete answer. */
  const answered = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    let left = count;
    const askOn = async (): Promise<void> => {
      while (left-- > 0) {
        const response = await chat({ tokens: 5 });
        assert.equal(response.status, 200, await response.text());
        ids.push(convertRequestIdToUuid(response.headers.get("x-request-id") as string));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, askOn));
    return ids;
  };
  const chargedOf = (ids: string[]) =>
    postgres.query<{ id: string; outcome: string; charge_pico: string }>(
      "select id, outcome, charge_pico::text from request where id = any ($1) and charge_pico > 0",
      [ids],
    );
  const admin = async (...args: string[]): Promise<string> => {
    const run = runTollgate(["admin", ...args], { ...env, DATA_DIR: dataDir });
    assert.equal(await run.ended, 0, run.output());
    return run.output();
  };
  const ready = async (): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${gateway.internalPort}/readyz`)).status === 200;
  const journaled = async (text: string): Promise<boolean> => {
    const directory = join(dataDir, "spool");
    const names = (await readdir(directory)).filter((name) => name.endsWith(".changes"));
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
    return texts.some((one) => one.replaceAll("\\", "").includes(text));
  };
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${gateway.internalPort}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  };

  /** Returns the changes made by the API and by commands, as text to compare. */
  const changes = async () => {
    const [found] = await postgres.query(
      `select (select jsonb_agg(n.name || ' ' || n.state order by n.name) from node n where n.account_id = $1) as nodes,
              (select jsonb_agg(a.name order by a.name) from account a) as accounts,
              (select jsonb_agg(t.kind || ' ' || t.amount order by t.kind, t.amount, t.account_id) from transfer t) as transfers,
              (select jsonb_agg(b.note || ' ' || b.paid_by) from payout_batch b) as payouts,
              (select jsonb_agg(o.action || ' ' || o.outcome order by o.id) from operator_action o) as acts,
              (select balance::text from ledger_account where id = $1) as earned`,
      [host.account],
    );
    return found;
  };
  const register = async (name: string): Promise<string> => {
    const response = await fetch(`${gateway.baseUrl.replace(/\/v1$/, "")}/node/v1/nodes`, {
      method: "POST",
      headers: { authorization: `Bearer ${host.token}`, "content-type": "application/json" },
      body: JSON.stringify({ name, hardware: {}, agent: "test" }),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { id: string }).id;
  };

  test("gateways charge every answer once, keep a revoked key revoked, and report the loss", async () => {
    const kept = await answered(3);
    const revoked = await makeKey(postgres.query, account, HIGH_KEY_LIMITS);
    assert.equal((await chat({ tokens: 1 }, {}, revoked.token)).status, 200);
    await postgres.kill("standby");
    const lost = await answered(ANSWERS);
    await register("lost");
    await eventually("every answer is charged", async () => (await chargedOf(lost)).length === lost.length);
    // Pays out earnings. Some are from requests that the failover loses.
    const { id: batch } = JSON.parse(await admin("payout", "create", "--note", "lost", "--json"))[0] as { id: string };
    await admin("payout", "paid", batch);
    await admin("account", "open", "builder", "lost");
    await admin("grant", publicId("acc", account as Uuid), "--usd", "7", "--reason", "lost");
    const before = await changes();
    await admin("key", "revoke", publicId("key", revoked.id as Uuid));
    await eventually("the revocation is in the journal", () => journaled(revoked.id));
    // The failover loses this request's hold, and the request is answered afterwards.
    const inFlight = await chat({ tokens: 200, delta_ms: 20 }, { stream: true });
    const rest = await waitForFirstOutput(inFlight);
    const inFlightId = convertRequestIdToUuid(inFlight.headers.get("x-request-id") as string);

    await postgres.failoverLosing();
    await eventually("the gateway is ready again", ready);
    assert.equal((await chat({ tokens: 1 }, {}, revoked.token)).status, 401, "the key was revoked in what was lost");
    await rest();
    const all = [...kept, ...lost, inFlightId];
    const charged = await eventually("every answer is charged", async () => {
      const rows = await chargedOf(all);
      return rows.length === all.length && rows;
    });
    for (const { id, outcome } of charged) assert.equal(outcome, "ok", id);
    const [sums] = await postgres.query<{ spent: string; charged: string }>(
      `select (select $2::bigint + 7000000000000 - balance from ledger_account where id = $1)::text as spent,
              (select sum(charge_pico) from request where account_id = $1)::text as charged`,
      [account, DEFAULT_CREDIT_PICO.toString()],
    );
    assert.equal(sums?.spent, sums?.charged, "none is charged twice");
    assert.match(await admin("ledger", "check"), /The ledger balances/);

    const [loss] = await eventually("the loss is recorded, and everything is entered again", async () => {
      const rows = await postgres.query<{ entered: Record<string, number>; not_entered: unknown[] }>(
        "select entered, not_entered from history_loss",
      );
      return rows[0]?.not_entered.length === 0 && rows;
    });
    const { acts, earned: _, ...entered } = (await changes()) as Record<string, unknown>;
    const { acts: actsBefore, earned: __, ...expected } = before as Record<string, unknown>;
    assert.deepEqual(entered, expected);
    assert.deepEqual((acts as string[]).slice(0, -1), actsBefore, "and the revocation");
    assert.equal(loss?.entered["requests"], ANSWERS, "the standby had none of them");
    assert.equal(loss?.entered["api_key"], 1);
    assert.match(await admin("history", "losses"), /requests/);
    assert.equal(await metric("tollgate_history_lost_total"), 1);
    assert.match(await gateway.log(), /a failover lost commits of the database/);
  });

  test("gateways refuse the old primary when it comes back at the same address, and charge nothing there", async () => {
    const before = await metric("tollgate_database_refused_total");
    await postgres.leadTo("standby");
    await eventually("the gateway is not ready", async () => !(await ready()));
    const response = await chat({ tokens: 1 });
    assert.equal(response.status, 503);
    assert.ok((await metric("tollgate_database_refused_total")) > before);
    assert.match(
      await gateway.log(),
      /database rejected: it is not the database that this gateway used before, or it is an older copy of it/,
    );

    await postgres.leadTo("primary");
    await eventually("the gateway is ready again", ready);
    const ids = await answered(3);
    assert.equal(
      (
        await eventually("they are charged", async () => {
          const rows = await chargedOf(ids);
          return rows.length === ids.length && rows;
        })
      ).length,
      3,
    );
  });

  test("commands do not write to the old primary, and a starting gateway waits until it reaches the new one", async () => {
    assert.equal(await gateway.stop(), 0);
    await postgres.leadTo("standby");
    const grant = ["admin", "grant", publicId("acc", account as Uuid), "--usd", "7", "--reason", "lost again"];
    const run = runTollgate(grant, { ...env, DATA_DIR: dataDir });
    assert.equal(await run.ended, 1);
    assert.match(run.output(), /it is an old primary \(timeline 1, and timeline 2 exists\)/);
    const internalPort = await findFreePort();
    const starting = startGatewayProcess(dataDir, { ...env, INTERNAL_PORT: String(internalPort) });
    const { status, reasons } = await eventually("the gateway waits for another database", async () => {
      const response = await fetch(`http://127.0.0.1:${internalPort}/readyz`).catch(() => undefined);
      const body = (await response?.json()) as { reasons?: Record<string, string> } | undefined;
      return response !== undefined && body?.reasons?.database !== undefined && { ...body, status: response.status };
    });
    assert.equal(status, 503);
    assert.match(reasons?.database ?? "", /it is an old primary \(timeline 1, and timeline 2 exists\)\. Next: /);
    await postgres.leadTo("primary");
    gateway = await starting;
    await eventually("the gateway is ready", ready);
  });
});
