/**
 * Secrets are replaced while two gateways serve a steady load behind a balancer, on one database and one NATS server: first every
 * gateway is told the next one, then it is put in the place of the old, then the old one goes. Nobody notices.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { sleep, systemClock } from "../gateway/src/base/clock.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { createKey, keyFromSeed } from "../gateway/src/dispatch/credentials/nkeys.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { ConsoleClient } from "./console-client.ts";
import { PEPPER, urlOf } from "./database.ts";
import { makeKey, openBuilder, openHost, startNode } from "./fixtures.ts";
import { type Gateway, serve } from "./hostile/stage.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "./planes.ts";
import { eventually, newDataDir, type Platform, removeDataDir, tollgate } from "./platform.ts";
import { ask, CHAT, startSteadyLoad } from "./steady-load.ts";

const NEW_PEPPER = "the pepper that takes its place, in these tests";
const SESSION = "a secret of sessions that is not drawn from the pepper";
const RECEIPT_SEEDS = ["a", "b"].map((letter) => Buffer.alloc(32, letter).toString("base64url")) as [string, string];
const newPlaneKey = (): string => createKey("account", systemRandom()).seed;
/** Nodes have new credentials after this long. */
const CREDENTIALS_S = 20;
const PERSON = { email: "ada@example.test", password: "correct horse battery" };

interface Told {
  pepper: { replacing: string | null; api_keys?: { unseen: number }; host_tokens?: { unseen: number } };
  receipts: { published: number };
  old_needed: boolean;
}

describe("replacing secrets", { skip }, () => {
  let db: TestDatabase;
  let nats: NatsPlane;
  let env: Record<string, string>;
  let balancer: Balancer;
  let [key, quietKey, hostToken] = ["", "", ""];
  const dataDirs: string[] = [];
  const gateways: Gateway[] = [];
  const nodes: ChildProcess[] = [];
  let starts = 0;

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const start = (place: number): Promise<Gateway> => {
    starts += 1;
    return serve(dataDirs[place] as string, env, `gateway-${starts}`);
  };
  before(async () => {
    db = await openTestDatabase();
    nats = await openNats();
    env = {
      ...nats.env,
      DATABASE_URL: urlOf(db.connection),
      KEY_PEPPER: PEPPER,
      RECEIPT_SEED: RECEIPT_SEEDS[0],
      PLANE_CREDENTIAL_TTL_S: String(CREDENTIALS_S),
      DRAIN_DELAY_S: "2",
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
    for (const place of [0, 1]) {
      dataDirs.push(await newDataDir());
      gateways.push(await start(place));
    }
    const portOf = ({ baseUrl }: Gateway): number => Number(new URL(baseUrl).port);
    balancer = await startBalancer({
      gateways: () => gateways.map((gateway) => ({ port: portOf(gateway), internalPort: gateway.internalPort })),
    });
    const account = await openBuilder(query, 100_000_000_000_000n);
    const wide = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };
    key = (await makeKey(query, account, wide)).token;
    quietKey = (await makeKey(query, account, wide)).token;
    hostToken = (await openHost(query)).token;
    const ready = { base_url: balancer.url, host_token: hostToken };
    nodes.push(await startNode({ ready }, { name: "one", model: "tiny-3b,embed-m3", slots: 16 }));
    for (const { baseUrl } of gateways) {
      await eventually("it serves", async () => (await ask(baseUrl, key, CHAT)).status === 200, 60_000);
    }
  });
  after(async () => {
    for (const node of nodes) node.kill("SIGKILL");
    await balancer?.close();
    for (const gateway of gateways) await gateway.stop();
    await nats?.close();
    await db?.close();
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  async function secrets(): Promise<Told & { code: number | null }> {
    const asked = tollgate(["admin", "secrets", "--json"], env);
    const code = await asked.ended;
    return { ...(JSON.parse(asked.output()) as Told), code };
  }

  test("pepper, session secret, receipt key and the plane's: no client sees an error, keys and sessions go on", async () => {
    const person = new ConsoleClient({ ready: { base_url: balancer.url } });
    await person.send("POST", "auth/sign-up/email", { ...PERSON, name: "Ada" });
    const stays = async (): Promise<void> => {
      for (const { baseUrl } of gateways) {
        const { status } = await fetch(`${baseUrl}/console/api/me`, { headers: { cookie: person.cookie } });
        assert.equal(status, 200);
      }
    };
    const load = await startSteadyLoad({ query, baseUrl: balancer.url, key });
    await load.more(30);
    /** Each gateway in turn gets what is in `env` now. */
    const roll = async (changes: Record<string, string>): Promise<void> => {
      env = { ...env, ...changes };
      for (const place of [0, 1]) {
        assert.equal(await (gateways[place] as Gateway).stop(), 0);
        gateways[place] = await start(place);
        await eventually("both are ready", () => balancer.ready() === 2);
        await load.more(30);
        await stays();
      }
    };
    const [first, second] = [newPlaneKey(), newPlaneKey()];
    const { PLANE_SEED: seed = "" } = env;
    await roll({ KEY_PEPPER_NEXT: NEW_PEPPER, PLANE_SIGNING_SEED: `${seed},${first}` });
    await roll({
      KEY_PEPPER: NEW_PEPPER,
      KEY_PEPPER_OLD: PEPPER,
      KEY_PEPPER_NEXT: "",
      PLANE_SIGNING_SEED: first,
      PLANE_SEED: "",
      PLANE_ACCOUNT: keyFromSeed(seed).publicKey,
    });
    const during = await secrets();
    assert.deepEqual(
      [during.code, during.old_needed, during.pepper.replacing, during.pepper.api_keys?.unseen],
      [3, true, "old", 1],
      "the key that nobody used",
    );
    assert.equal((await ask(balancer.url, quietKey, { path: "/v1/models" })).status, 200);
    const headers = { authorization: `Bearer ${hostToken}` };
    await eventually("every secret was seen", async () => {
      await fetch(`${balancer.url}/node/v1/nodes`, { headers });
      return (await secrets()).code === 0;
    });
    // Who signed in under the old pepper would be asked to do so again from here on.
    await person.signIn(PERSON);
    await roll({
      KEY_PEPPER_OLD: "",
      RECEIPT_SEED: RECEIPT_SEEDS[1],
      SESSION_SECRET_NEXT: SESSION,
      PLANE_SIGNING_SEED: `${first},${second}`,
    });
    await roll({
      SESSION_SECRET: SESSION,
      SESSION_SECRET_OLD: "derived",
      SESSION_SECRET_NEXT: "",
      PLANE_SIGNING_SEED: `${second},${first}`,
    });
    const signedAnew = sleep(systemClock, CREDENTIALS_S * 1_000);
    await roll({ PLANE_SIGNING_SEED: second });
    await signedAnew;
    const retired = tollgate(["admin", "plane", "retire-keys", "--yes"], env);
    assert.equal(await retired.ended, 0, retired.output());
    assert.ok(retired.output().includes(keyFromSeed(first).publicKey), retired.output());
    await load.more(50);
    assert.equal((await secrets()).receipts.published, 2);
    assert.equal((await ask(balancer.url, quietKey, { path: "/v1/models" })).status, 200);
    await load.endsWell();
    const check = tollgate(["admin", "ledger", "check"], env);
    assert.equal(await check.ended, 0, check.output());
  });
});
