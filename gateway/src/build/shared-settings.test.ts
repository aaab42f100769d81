/**
 * Tests gateways whose settings differ from the deployment's shared settings, on one database and one limits server.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { parseConfig } from "../config.ts";
import type { SharedSettingName } from "../db/deployment/setting-rules.ts";
import { changeSharedSetting, readSharedSettings } from "../db/deployment/shared-settings-record.ts";
import type { SharedSettings } from "../db/deployment/watch-settings.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import {
  findValkeyServer,
  sendValkeyCommand,
  startValkeyServer,
  type TestValkeyServer,
} from "../limits/testing-limits.ts";
import { createKey } from "../plane/credentials/nkeys.ts";
import { loadServerSecrets } from "../server-secrets.ts";
import { openGatewaySettings, openSharedSettings } from "./shared-settings.ts";
import { type MissingDependency, StoppedWhileWaiting } from "./wait-for-dependencies.ts";

const binary = findValkeyServer();
const needsServer = { skip: binary === undefined && "neither valkey-server nor redis-server is installed" };

const [PEPPER, OTHER_PEPPER] = ["the pepper of these tests, 32 characters", "a pepper that is another, 32 characters"];
const [SEED, OTHER_SEED] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64url"));
const seedOf = (role: "account" | "operator" | "user"): string => createKey(role, systemRandom()).seed;
const ACCOUNT = seedOf("account");
const ENV = { DATABASE_URL: "postgres://unused", KEY_PEPPER: PEPPER, RECEIPT_SEED: SEED, PLANE_SEED: ACCOUNT };
const NATS = {
  NATS_URL: "nats://nats.example:4222",
  NATS_OPERATOR_SEED: seedOf("operator"),
  NATS_SYSTEM_JWT: "a.b.c",
  NATS_SYSTEM_SEED: seedOf("user"),
};
const MAIL = { SMTP_URL: "smtp://mail.example:25", MAIL_FROM: "a@b.example", PUBLIC_URL: "https://gate.example" };
const payments = (mode: string) => ({ STRIPE_SECRET_KEY: `sk_${mode}_1`, STRIPE_WEBHOOK_SECRET: "whsec_1" });

type Env = Record<string, string | undefined>;

/** A gateway reduced to the part that compares its settings. */
class Gateway {
  readonly clock: ManualClock = manualClock();
  readonly lines: { level: number; msg: string }[] = [];
  missing: MissingDependency | undefined;
  settings: SharedSettings | undefined;
  error: unknown;
  readonly #stop = Promise.withResolvers<void>();
  readonly #onClose: (() => void | Promise<void>)[] = [];
  readonly started: Promise<void>;

  constructor(database: TestDatabase, env: Env, { development = false } = {}) {
    this.started = this.#start(database, env, development).catch((error) => {
      this.error = error;
    });
  }

  async #start({ pool }: TestDatabase, env: Env, development: boolean): Promise<void> {
    const config = parseConfig(env);
    const [clock, random] = [this.clock, systemRandom()];
    const context = {
      ...{ config, clock, random, newId: newIds(clock, random), gatewayId: "g", development },
      log: createLog("info", { write: (line) => void this.lines.push(JSON.parse(line)) }),
      progress() {},
      onLost: assert.fail,
      stopped: this.#stop.promise,
      onClose: (stop: () => void | Promise<void>) => void this.#onClose.push(stop),
    };
    const schema = { number: Number.POSITIVE_INFINITY, reached: async () => {} };
    const broadcast = { send: async () => {}, on: () => {}, close: async () => {} };
    const needs = { store: { pool, schema, broadcast }, secrets: await loadServerSecrets(config) };
    this.settings = await openSharedSettings(context, needs, (missing) => {
      this.missing = missing;
    });
  }

  /** Advances the clock until the condition is true. */
  async until(what: string, check: () => boolean): Promise<void> {
    await eventually(what, () => {
      if (this.error !== undefined && !(this.error instanceof StoppedWhileWaiting)) throw this.error;
      this.clock.advance(1_000);
      return check();
    });
  }

  async serving(): Promise<void> {
    await this.until("it serves", () => this.settings !== undefined);
    await this.settings?.belongs();
    assert.deepEqual(this.settings?.differences(), []);
  }

  /** The reason why the gateway does not become ready. */
  async refusal(): Promise<{ settings: readonly string[]; reason: string }> {
    await this.until("it waits", () => this.missing?.name === "deployment");
    const { settings = [], reason = "" } = this.missing ?? {};
    return { settings, reason };
  }

  async stop(): Promise<void> {
    this.#stop.resolve();
    await this.until("it stopped", () => this.error !== undefined || this.settings !== undefined);
    for (const stop of this.#onClose) await stop();
  }
}

describe("a gateway that compares its settings with those recorded in the database", () => {
  let database: TestDatabase;
  let gateways: Gateway[];
  beforeEach(async () => {
    [database, gateways] = [await openTestDatabase(), []];
  });
  afterEach(async () => {
    for (const gateway of gateways) await gateway.stop();
    await database.close();
  });
  const open = (env: Env, options?: { development?: boolean }): Gateway => {
    const gateway = new Gateway(database, env, options);
    gateways.push(gateway);
    return gateway;
  };
  const serving = async (env: Env): Promise<Gateway> => {
    const gateway = open(env);
    await gateway.serving();
    return gateway;
  };
  /** Changes a shared setting as `tollgate admin deployment set` does. */
  const change = async (name: SharedSettingName, env: Env): Promise<void> => {
    const config = parseConfig(env);
    const own = await openGatewaySettings({ config, secrets: await loadServerSecrets(config), newId: randomUUID });
    const from = (await readSharedSettings(database.pool))[name];
    const to = (await own.tell({}))[name]?.written() ?? assert.fail();
    await changeSharedSetting(database.pool, name, { from, to: { value: to, previous: from?.value ?? null } });
    own.close();
  };

  test("records its settings if none are recorded, and a second gateway with the same settings serves", async () => {
    await serving({ ...ENV, ...MAIL, ...payments("live") });
    const { pepper, plane, limits, receipts, mail, payments: sold } = await readSharedSettings(database.pool);
    assert.deepEqual(
      [plane, limits, mail, sold].map((setting) => setting?.value),
      ["embedded", "memory", "smtp", "live"],
    );
    assert.match(receipts?.value ?? "", /^[0-9a-f]{16}$/);
    assert.ok(!JSON.stringify([pepper, receipts]).match(`${PEPPER}|${SEED}`));
    await serving({ ...ENV, ...MAIL, ...payments("live") });
  });

  test("records nothing before it knows that the database belongs to its deployment", async () => {
    const gateway = open(ENV);
    await gateway.until("it compared", () => gateway.settings !== undefined);
    await gateway.settings?.look();
    assert.deepEqual(await readSharedSettings(database.pool), {});
    await gateway.settings?.belongs();
    assert.equal(Object.keys(await readSharedSettings(database.pool)).length, 6);
  });

  test("reports a conflict with a gateway that started at the same time with other settings", async () => {
    const [one, two] = [open(ENV), open({ ...ENV, ...MAIL })];
    for (const gateway of [one, two]) await gateway.until("it compared", () => gateway.settings !== undefined);
    await Promise.all([one, two].map((gateway) => gateway.settings?.belongs()));
    const differing = [one, two].map(({ settings }) => settings?.differences().map(({ setting }) => setting) ?? []);
    assert.deepEqual(differing.flat(), ["mail"]);
  });

  const MISTAKES: [string, { first: Env; second: Env; setting: SharedSettingName; says: RegExp }][] = [
    [
      "a wrong KEY_PEPPER",
      {
        ...{ first: ENV, second: { ...ENV, KEY_PEPPER: OTHER_PEPPER }, setting: "pepper" },
        says: /^KEY_PEPPER is not the pepper of this database/,
      },
    ],
    [
      "a missing NATS_URL",
      {
        ...{ first: { ...ENV, ...NATS }, second: ENV, setting: "plane" },
        says: /^NATS_URL differs: this gateway has an embedded dispatch plane, and the deployment NATS, account A/,
      },
    ],
    [
      "another NATS account's keys",
      {
        ...{ first: { ...ENV, ...NATS }, second: { ...ENV, ...NATS, PLANE_SEED: seedOf("account") } },
        ...{ setting: "plane", says: /^NATS_URL differs/ },
      },
    ],
    [
      "other receipt keys",
      {
        ...{ first: ENV, second: { ...ENV, RECEIPT_SEED: OTHER_SEED }, setting: "receipts" },
        says: /^RECEIPT_SEED differs: this gateway has key/,
      },
    ],
    [
      "test payment keys beside live ones",
      {
        ...{ first: { ...ENV, ...payments("live") }, second: { ...ENV, ...payments("test") }, setting: "payments" },
        says: /^STRIPE_SECRET_KEY differs: this gateway has test keys, and the deployment live keys/,
      },
    ],
    [
      "no mail server",
      {
        ...{ first: { ...ENV, ...MAIL }, second: ENV, setting: "mail" },
        says: /^SMTP_URL differs: this gateway has no email, and the deployment a mail server/,
      },
    ],
  ];
  for (const [mistake, { first, second, setting, says }] of MISTAKES) {
    test(`does not become ready with ${mistake}, until an operator changes the deployment`, async () => {
      await serving(first);
      const wrong = open(second);
      const { settings, reason } = await wrong.refusal();
      assert.deepEqual(settings, [setting]);
      assert.match(reason, says);
      assert.match(reason, new RegExp(`tollgate admin deployment set ${setting}$`));
      assert.equal(wrong.lines.filter(({ level }) => level === 50).length, 1, "it is told once");
      for (const secret of [PEPPER, OTHER_PEPPER, SEED, OTHER_SEED, "sk_", "whsec", "smtp:"])
        assert.ok(!JSON.stringify([reason, wrong.lines]).includes(secret as string), secret);
      await change(setting, second);
      await wrong.serving();
      // A gateway that has only the new pepper completes a change of the pepper, so a gateway with the old pepper is
      // then refused. Other changes stay open until an operator completes them, so a gateway with the old value serves.
      if (setting === "pepper") assert.deepEqual((await open(first).refusal()).settings, ["pepper"]);
      else await serving(first);
    });
  }

  test("serves with the previous value of a shared setting until the change is finished, and is not ready afterwards", async () => {
    const old = await serving(ENV);
    await change("mail", { ...ENV, ...MAIL });
    await old.serving();
    const from = (await readSharedSettings(database.pool)).mail;
    await changeSharedSetting(database.pool, "mail", { from, to: { value: from?.value ?? "", previous: null } });
    await old.until("it sees it", () => old.settings?.differences().length === 1);
    assert.equal(old.settings?.differences()[0]?.setting, "mail");
    assert.ok(old.lines.some(({ level, msg }) => level === 50 && /not ready until they match/.test(msg)));
  });

  test("replaces the pepper in the documented steps, and every gateway stays ready", async () => {
    const next = { ...ENV, KEY_PEPPER_NEXT: OTHER_PEPPER };
    const old = { ...ENV, KEY_PEPPER: OTHER_PEPPER, KEY_PEPPER_OLD: PEPPER };
    const [a, b] = [await serving(ENV), await serving(next)];
    const c = await serving(old);
    for (const gateway of [a, b, c]) await gateway.serving();
    await serving({ ...ENV, KEY_PEPPER: OTHER_PEPPER });
    await c.serving();
    await a.until("it sees that its pepper is gone", () => a.settings?.differences().length === 1);
    assert.deepEqual((await open(ENV).refusal()).settings, ["pepper"]);
  });

  test("with a private PostgreSQL, records changed settings, but does not become ready with another pepper", async () => {
    const alone = { ...ENV, DATABASE_URL: undefined };
    await serving(alone);
    await serving({ ...alone, ...MAIL, ...payments("test"), RECEIPT_SEED: OTHER_SEED });
    assert.equal((await readSharedSettings(database.pool)).payments?.value, "test");
    assert.deepEqual((await open({ ...alone, KEY_PEPPER: OTHER_PEPPER }).refusal()).settings, ["pepper"]);
  });

  test("prints the differing settings immediately on a terminal", async () => {
    await serving(ENV);
    const wrong = open({ ...ENV, ...MAIL }, { development: true });
    await wrong.started;
    assert.match(String(wrong.error), /SMTP_URL differs/);
    wrong.error = undefined;
    gateways.pop();
  });

  test("becomes ready without a dispatch plane (PLANE=off), even if the deployment uses NATS", async () => {
    await serving({ ...ENV, ...NATS });
    await serving({ ...ENV, PLANE: "off" });
  });

  describe("whose deployment uses a limits server (Valkey)", needsServer, () => {
    let [server, other]: TestValkeyServer[] = [];
    before(async () => {
      [server, other] = [await startValkeyServer(binary as string), await startValkeyServer(binary as string)];
    });
    after(async () => {
      await server?.kill();
      await other?.kill();
    });
    afterEach(async () => {
      for (const { url } of [server, other] as TestValkeyServer[]) await sendValkeyCommand(url, "FLUSHALL");
    });
    const on = (which: TestValkeyServer | undefined): Env => ({ ...ENV, VALKEY_URL: which?.url });

    test("does not become ready when VALKEY_URL is missing", async () => {
      await serving(on(server));
      const { settings, reason } = await open(ENV).refusal();
      assert.deepEqual(settings, ["limits"]);
      assert.match(
        reason,
        /^VALKEY_URL differs: this gateway has no limits server \(each gateway counts in its memory\), and the deployment limits server/,
      );
    });

    test("does not become ready if VALKEY_URL names an empty server or another deployment's server", async () => {
      await serving(on(server));
      assert.deepEqual((await open(on(other)).refusal()).settings, ["limits"]);
      await sendValkeyCommand(other?.url ?? "", "SET", "tollgate:deployment", "of another deployment");
      assert.deepEqual((await open(on(other)).refusal()).settings, ["limits"]);
    });

    test("recognizes the same server under another URL, and after the server lost all data", async () => {
      const one = await serving(on(server));
      await serving({ ...ENV, VALKEY_URL: `unix://${server?.url}` });
      await sendValkeyCommand(server?.url ?? "", "FLUSHALL");
      await one.settings?.look();
      await one.serving();
      await serving(on(server));
    });

    test("accepts a limits server that lost all data if no other gateway is connected to a different one", async () => {
      await serving(on(server));
      await sendValkeyCommand(server?.url ?? "", "FLUSHALL");
      await database.pool.query("update shared_setting set confirmed_at = now() - interval '1 minute'");
      await serving(on(server));
    });

    test("serves while that server is unreachable, and reports no difference", async () => {
      await serving(ENV);
      const away = await serving({ ...ENV, VALKEY_URL: "/nobody/listens/here" });
      assert.equal((await readSharedSettings(database.pool)).limits?.value, "memory");
      assert.deepEqual(away.settings?.differences(), []);
    });
  });
});
