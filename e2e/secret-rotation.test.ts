/**
 * Replaces secrets while two gateways serve a steady load behind a load balancer, on one database and one NATS server.
 * In three steps, every gateway gets the next secret, uses it as the current one, and drops the old one. No request
 * fails.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { skipWithoutNats as skip } from "@tollgate/stage/dispatch-planes.ts";
import { CHAT_REQUEST, sendSteadyRequest, startSteadyLoad } from "@tollgate/stage/load/steady-load.ts";
import { openLoadBalancedStage, STEADY_LOAD_MODELS } from "@tollgate/stage/load-balanced-stage.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { createKey, keyFromSeed } from "../gateway/src/plane/credentials/nkeys.ts";
import { ConsoleClient } from "./console-client.ts";

const NEW_PEPPER = "the pepper that takes its place, in these tests";
const SESSION = "a secret of sessions that is not drawn from the pepper";
const RECEIPT_SEEDS = ["a", "b"].map((letter) => Buffer.alloc(32, letter).toString("base64url")) as [string, string];
const newPlaneKey = (): string => createKey("account", systemRandom()).seed;
/** The lifetime of node credentials in seconds. Short, because the suite waits until nodes have renewed them. */
const CREDENTIALS_S = 20;
const PERSON = { email: "ada@example.test", password: "correct horse battery" };

interface Told {
  pepper: { replacing: string | null; api_keys?: { unseen: number }; host_tokens?: { unseen: number } };
  receipts: { published: number };
  old_needed: boolean;
}

describe("replacing a platform's secrets", { skip }, () => {
  let stage: ProcessStage;
  /** The settings that the replacement has changed so far, for every gateway. */
  let told: Record<string, string>;
  let [key, quietKey, hostToken] = ["", "", ""];

  before(async () => {
    const env = { RECEIPT_SEED: RECEIPT_SEEDS[0], PLANE_CREDENTIAL_TTL_S: String(CREDENTIALS_S) };
    stage = await openLoadBalancedStage({ env });
    told = {};
    [key, quietKey] = [(await stage.builder()).key, (await stage.builder()).key];
    const { host } = await stage.node({ models: STEADY_LOAD_MODELS });
    hostToken = host.token;
    for (const { baseUrl } of stage.gateways) {
      await eventually("it serves", async () => (await sendSteadyRequest(baseUrl, key, CHAT_REQUEST)).status === 200);
    }
  });
  after(() => stage?.close());

  /** Returns how often the running gateways were asked for node credentials. */
  const credentialsGiven = async (): Promise<number> => {
    const pages = [...stage.gateways].map(({ internalPort }) => fetch(`http://127.0.0.1:${internalPort}/metrics`));
    const texts = await Promise.all(pages.map(async (page) => (await page).text()));
    const given = texts.join("").matchAll(/^tollgate_http_answers_total\{.*nodes\/:id\/credentials".*\} (\d+)$/gm);
    return [...given].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const command = (...args: string[]) => runTollgate(["admin", ...args], { ...stage.env, ...told });
  async function secrets(): Promise<Told & { code: number | null }> {
    const asked = command("secrets", "--json");
    const code = await asked.ended;
    return { ...(JSON.parse(asked.output()) as Told), code };
  }

  test("replacing the pepper and the session, receipt and plane keys causes no client error, and keys and sessions stay valid", async () => {
    const { query, baseUrl: url } = stage;
    const person = new ConsoleClient({ ready: { gateway_url: url } });
    await person.send("POST", "auth/sign-up/email", { ...PERSON, name: "Ada" });
    const stays = async (): Promise<void> => {
      for (const { baseUrl } of stage.gateways) {
        const { status } = await fetch(`${baseUrl}/console/api/me`, { headers: { cookie: person.cookie } });
        assert.equal(status, 200);
      }
    };
    const load = await startSteadyLoad({ query, baseUrl: url, key });
    await load.more(30);
    /**
     * Replaces the gateways in turn by new ones with these settings. Each new one starts before the old one has ended.
     */
    const roll = async (changes: Record<string, string>): Promise<void> => {
      told = { ...told, ...changes };
      for (const gateway of [...stage.gateways]) {
        await Promise.all([stage.removeGateway(gateway), stage.addGateway(told)]);
        await stage.joined();
        await load.more(30);
        await stays();
      }
    };
    const [first, second] = [newPlaneKey(), newPlaneKey()];
    const { PLANE_SEED: seed = "" } = stage.env;
    await roll({ KEY_PEPPER_NEXT: NEW_PEPPER, PLANE_SIGNING_SEED: `${seed},${first}` });
    await roll({
      KEY_PEPPER: NEW_PEPPER,
      KEY_PEPPER_OLD: TEST_KEY_PEPPER,
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
    assert.equal((await sendSteadyRequest(url, quietKey, { path: "/v1/models" })).status, 200);
    const headers = { authorization: `Bearer ${hostToken}` };
    assert.equal((await fetch(`${url}/node/v1/nodes`, { headers })).status, 200);
    await eventually("every secret was seen", async () => (await secrets()).code === 0);
    // Signs in again, because sessions under the old pepper end in the next step.
    await person.signIn(PERSON);
    /** Receipts are signed with one key at a time, so an operator announces a new key with a command. */
    const receipts = async (what: "set" | "finish"): Promise<void> => {
      const run = runTollgate(["admin", "deployment", what, "receipts"], {
        ...stage.env,
        ...told,
        RECEIPT_SEED: RECEIPT_SEEDS[1],
      });
      assert.equal(await run.ended, 0, run.output());
    };
    await receipts("set");
    await roll({
      KEY_PEPPER_OLD: "",
      RECEIPT_SEED: RECEIPT_SEEDS[1],
      SESSION_SECRET_NEXT: SESSION,
      PLANE_SIGNING_SEED: `${first},${second}`,
    });
    await receipts("finish");
    await roll({
      SESSION_SECRET: SESSION,
      SESSION_SECRET_OLD: "derived",
      SESSION_SECRET_NEXT: "",
      PLANE_SIGNING_SEED: `${second},${first}`,
    });
    await roll({ PLANE_SIGNING_SEED: second });
    // These gateways have signed with the second key since they started, so all credentials in their metrics are signed
    // with it.
    await eventually(
      "the node's credentials are signed with the second key",
      async () => (await credentialsGiven()) > 0,
    );
    const retired = command("plane", "retire-keys", "--yes");
    assert.equal(await retired.ended, 0, retired.output());
    assert.ok(retired.output().includes(keyFromSeed(first).publicKey), retired.output());
    await load.more(50);
    assert.equal((await secrets()).receipts.published, 2);
    assert.equal((await sendSteadyRequest(url, quietKey, { path: "/v1/models" })).status, 200);
    await load.endsWell();
    const check = command("ledger", "check");
    assert.equal(await check.ended, 0, check.output());
  });
});
