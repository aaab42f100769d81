/**
 * Replaces the passwords of PostgreSQL and Valkey while two gateways serve a steady load, in the steps of
 * docs/operators/secrets.md. Both servers accept the old and the new password until every gateway uses the new one. No
 * client sees an error.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { CHAT_REQUEST, sendSteadyRequest, startSteadyLoad } from "@tollgate/stage/load/steady-load.ts";
import { openLoadBalancedStage, STEADY_LOAD_MODELS } from "@tollgate/stage/load-balanced-stage.ts";
import { type Postgres, startPostgres } from "@tollgate/stage/servers/postgres.ts";
import { startValkey, type Valkey } from "@tollgate/stage/servers/valkey.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { Redis } from "ioredis";
import { findValkeyServer } from "../gateway/src/limits/testing-limits.ts";

const ROLE = "tollgate_b";
const [OLD, NEW] = ["the old password of a test", "the new password of a test"].map((text) =>
  text.replaceAll(" ", "-"),
);
const skip =
  skipWithoutNats || (findValkeyServer() === undefined && "neither valkey-server nor redis-server is installed");

describe("replacing the passwords of PostgreSQL and Valkey", { skip }, () => {
  let postgres: Postgres;
  let valkey: Valkey;
  let stage: ProcessStage;
  /** The current settings of all gateways. */
  let settings: Record<string, string>;
  let key = "";
  before(async () => {
    [postgres, valkey] = await Promise.all([startPostgres(), startValkey()]);
    await acl("resetpass", `>${OLD}`);
    settings = { DATABASE_URL: postgres.url, VALKEY_URL: withPassword(OLD), DATABASE_DURABILITY: "checked" };
    stage = await openLoadBalancedStage({ gateways: 0, env: settings });
    // Starts the gateways one after the other, because the first one creates the tables.
    for (let i = 0; i < 2; i++) await stage.addGateway();
    await stage.joined();
    key = (
      await makeKey(postgres.query, await openBuilderAccount(postgres.query, DEFAULT_CREDIT_PICO), HIGH_KEY_LIMITS)
    ).token;
    await stage.node({ models: STEADY_LOAD_MODELS, host: await openHostAccount(postgres.query) });
    for (const { baseUrl } of stage.gateways)
      await eventually("it serves", async () => (await sendSteadyRequest(baseUrl, key, CHAT_REQUEST)).status === 200);
  });
  after(async () => {
    await stage?.close();
    await valkey?.close();
    await postgres?.close();
  });

  const withPassword = (password?: string): string => valkey.url.replace("://", `://:${password}@`);
  /** Runs the command `ACL SETUSER default …` in Valkey with the current password. */
  async function acl(...words: string[]): Promise<void> {
    const redis = new Redis(settings?.VALKEY_URL ?? valkey.url, { lazyConnect: true, retryStrategy: null });
    redis.on("error", () => {});
    try {
      await redis.connect();
      await redis.call("ACL", "SETUSER", "default", ...words);
    } finally {
      redis.disconnect();
    }
  }

  test("no client sees an error, and neither old password works afterwards", async () => {
    const load = await startSteadyLoad({ query: postgres.query, baseUrl: stage.baseUrl, key });
    await load.more(30);
    const before = { ...settings };
    const roll = async (changes: Record<string, string>): Promise<void> => {
      settings = { ...settings, ...changes };
      for (const gateway of [...stage.gateways]) {
        await Promise.all([stage.removeGateway(gateway), stage.addGateway(settings)]);
        await stage.joined();
        await load.more(30);
      }
    };
    await postgres.query(`create role ${ROLE} login password '${NEW}' in role tollgate`);
    await postgres.query(`alter role ${ROLE} set role tollgate`);
    await acl(`>${NEW}`);
    const url = new URL(postgres.url);
    Object.assign(url, { username: ROLE, password: NEW });
    await roll({ DATABASE_URL: url.href, VALKEY_URL: withPassword(NEW) });
    await postgres.query("alter role tollgate nologin");
    await acl(`<${OLD}`);
    await load.more(50);
    await load.endsWell();
    const doctor = async (env: Record<string, string>): Promise<string> => {
      const run = runTollgate(["doctor", "--json"], { ...stage.env, ...env });
      await run.ended;
      return run.output();
    };
    for (const [name, refusal] of [
      ["DATABASE_URL", /not permitted to log in/],
      ["VALKEY_URL", /WRONGPASS/],
    ] as const) {
      assert.match(await doctor({ ...settings, [name]: before[name] ?? "" }), refusal);
      assert.doesNotMatch(await doctor(settings), refusal);
    }
    const [others] = await postgres.query<{ owned: number }>(
      `select count(*)::int as owned from pg_class where relowner = '${ROLE}'::regrole`,
    );
    assert.deepEqual(others, { owned: 0 }, "the role that owns the tables stays");
    const check = runTollgate(["admin", "ledger", "check"], { ...stage.env, ...settings });
    assert.equal(await check.ended, 0, check.output());
  });
});
