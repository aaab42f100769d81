/**
 * A copy of the database, such as a restored backup, must not join the NATS server (the dispatch plane) of the original
 * and use its nodes. It is refused with a message that says what to do. A copy can become a fork with a NATS server of
 * its own. If the original's database is lost, the copy can adopt its NATS server.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDataDir, removeDataDir, runTollgate } from "@tollgate/stage/dev-platform.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "@tollgate/stage/dispatch-planes.ts";
import { startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";

type Env = Record<string, string>;

interface Shown {
  id: string;
  forked_from: string | null;
  gateways: number;
  plane: { state: string; deployment: string | null };
}

describe("a copied deployment", { skip }, () => {
  /** The original platform, with one gateway. */
  let live: ProcessStage;
  /** A second database from the same template as the original's. The two are identical until one of them is used. */
  let copy: TestDatabase;
  let own: NatsPlane;
  let dataDir: string;
  /** Settings of gateways and commands: for the original, and for the copy while it uses the original's NATS server. */
  let [atOriginal, atCopy]: Env[] = [];

  before(async () => {
    [live, copy, own] = await Promise.all([
      openStage({ as: "processes", plane: "nats" }),
      openTestDatabase(),
      openNats(),
    ]);
    dataDir = await createDataDir();
    [atOriginal, atCopy] = [live.env, { ...live.env, DATABASE_URL: formatConnectionUrl(copy.connection) }];
  });
  after(async () => {
    await live?.close();
    await own?.close();
    await copy?.close();
    await removeDataDir(dataDir);
  });

  /** Starts a gateway that must fail, and returns its error. */
  const refusal = async (env: Env | undefined): Promise<string> => {
    const run = runTollgate(["serve"], { ...env, PORT: "0", DATA_DIR: dataDir });
    assert.equal(await run.ended, 1, run.output());
    const lines = run.output().match(/^error:.*$/gm) ?? [];
    assert.equal(lines.length, 1, run.output());
    return lines[0] as string;
  };
  const admin = async (args: string[], env: Env | undefined): Promise<{ code: number | null; said: string }> => {
    const run = runTollgate(["admin", "deployment", ...args], env);
    const code = await run.ended;
    return { code, said: run.output() };
  };
  const shown = async (env: Env | undefined): Promise<Shown> => {
    const { code, said } = await admin(["--json"], env);
    assert.equal(code, 0, said);
    return JSON.parse(said) as Shown;
  };

  test("the original deployment's NATS server refuses a copy and a fork (a copy with its own ID); the fork serves on another server", async (t) => {
    const [original, copied] = await Promise.all([shown(atOriginal), shown(atCopy)]);
    assert.equal(original.id, copied.id);
    assert.deepEqual([original.gateways, copied.gateways, original.plane.state], [1, 0, "own"]);
    assert.match(await refusal(atCopy), /this database is a copy of .*tollgate admin deployment fork/);
    assert.ok(live.gateway.running(), "the live one goes on");

    const inUse = await admin(["fork", "--yes"], atOriginal);
    assert.deepEqual([inUse.code, /1 gateways? use this database/.test(inUse.said)], [1, true], inUse.said);
    const { code, said } = await admin(["fork", "--yes", "--json"], atCopy);
    assert.equal(code, 0, said);
    const forked = JSON.parse(said) as { id: string; forked_from: string };
    assert.match(await refusal(atCopy), /belongs to deployment .*tollgate admin deployment adopt/);
    const atOwn = { ...atCopy, ...own.env };
    // Uses a new data directory. One that a gateway of the original has used contains the history of the original's
    // database, so this start would fail.
    const drillDir = await createDataDir();
    t.after(() => removeDataDir(drillDir));
    const drill = await startGatewayProcess(drillDir, atOwn, "drill");
    const now = await shown(atOwn);
    assert.deepEqual([now.id, now.forked_from, now.plane.state], [forked.id, forked.forked_from, "own"]);
    assert.equal(await drill.stop(), 0);
    const acts = await copy.pool.query("select action, outcome from operator_action order by id");
    assert.deepEqual(acts.rows.at(-1), { action: "deployment.fork", outcome: "done" });
  });

  test("tollgate admin deployment adopt moves a NATS server to the copy once the original's gateways are gone; then the original is refused", async () => {
    const early = await admin(["adopt"], atCopy);
    assert.deepEqual(
      [early.code, /use another database\. Next: stop them first/.test(early.said)],
      [1, true],
      early.said,
    );
    assert.equal(await live.stop(), 0);
    await eventually("no gateway is connected", async () => (await shown(atOriginal)).gateways === 0);
    const adopted = await admin(["adopt"], atCopy);
    assert.equal(adopted.code, 0, adopted.said);
    assert.match(await refusal(atOriginal), /belongs to deployment .*tollgate admin deployment adopt/);
  });
});
