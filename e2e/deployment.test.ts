/**
 * A copy of the database, as a restored backup is one, must not join the plane of the original and take its nodes' work: it is
 * refused with a line that says what to do. As a fork it has a plane of its own; a plane whose database is lost is adopted.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PEPPER, urlOf } from "@tollgate/stage/database.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "@tollgate/stage/plane.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";

describe("deployments", { skip }, () => {
  /** Both from one template: a copy and its original are the same until one of them is used. */
  let original: TestDatabase;
  let copy: TestDatabase;
  let plane: NatsPlane;
  let live: Platform;
  const dataDirs: string[] = [];
  const planes: NatsPlane[] = [];

  const envOf = (db: TestDatabase, { env }: NatsPlane) => ({
    ...env,
    DATABASE_URL: urlOf(db.connection),
    KEY_PEPPER: PEPPER,
  });
  const start = async (db: TestDatabase, on: NatsPlane): Promise<Platform> => {
    const dataDir = await newDataDir();
    dataDirs.push(dataDir);
    return await startPlatform(dataDir, ["--no-node"], envOf(db, on));
  };
  const newPlane = async (): Promise<NatsPlane> => {
    const made = await openNats();
    planes.push(made);
    return made;
  };
  before(async () => {
    [original, copy, plane] = [await openTestDatabase(), await openTestDatabase(), await newPlane()];
    live = await start(original, plane);
  });
  after(async () => {
    if (live?.process.exitCode === null) await live.stop();
    for (const made of planes) await made.close();
    await original?.close();
    await copy?.close();
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  /** What a gateway says that does not start. */
  const refusal = async (db: TestDatabase, on: NatsPlane): Promise<string> => {
    const dataDir = await newDataDir();
    dataDirs.push(dataDir);
    const env = { ...envOf(db, on), PORT: "0", DATA_DIR: dataDir };
    const run = tollgate(["serve"], env);
    assert.equal(await run.ended, 1, run.output());
    const lines = run
      .output()
      .split("\n")
      .filter((line) => line.startsWith("tollgate:"));
    assert.equal(lines.length, 1, run.output());
    return lines[0] as string;
  };
  const admin = async (args: string[], db: TestDatabase, env: Record<string, string>) => {
    const run = tollgate(["admin", "deployment", ...args], {
      ...env,
      DATABASE_URL: urlOf(db.connection),
      KEY_PEPPER: PEPPER,
    });
    const code = await run.ended;
    return { code, said: run.output() };
  };
  const shown = async (db: TestDatabase, on: NatsPlane) => {
    const { code, said } = await admin(["--json"], db, envOf(db, on));
    assert.equal(code, 0, said);
    return JSON.parse(said) as {
      id: string;
      forked_from: string | null;
      gateways: number;
      plane: { state: string; deployment: string | null };
    };
  };

  test("a copy is refused by the plane of its original, as a copy and as a fork; a fork has its own", async () => {
    const [atOriginal, atCopy] = [await shown(original, plane), await shown(copy, plane)];
    assert.equal(atOriginal.id, atCopy.id);
    assert.deepEqual([atOriginal.gateways, atCopy.gateways, atOriginal.plane.state], [1, 0, "own"]);
    assert.match(await refusal(copy, plane), /this database is a copy: .*tollgate admin deployment fork/);
    assert.equal(live.process.exitCode, null, "the live one goes on");

    const inUse = await admin(["fork", "--yes"], original, plane.env);
    assert.deepEqual([inUse.code, /1 gateways? use this database/.test(inUse.said)], [1, true], inUse.said);
    const { code, said } = await admin(["fork", "--yes", "--json"], copy, plane.env);
    assert.equal(code, 0, said);
    const forked = JSON.parse(said) as { id: string; forked_from: string };
    const own = await newPlane();
    const drill = await start(copy, own);
    const now = await shown(copy, own);
    assert.deepEqual([now.id, now.forked_from, now.plane.state], [forked.id, forked.forked_from, "own"]);
    assert.equal(await drill.stop(), 0);
    const acts = await copy.pool.query("select action, outcome from operator_action order by id");
    assert.deepEqual(acts.rows.at(-1), { action: "deployment.fork", outcome: "done" });
  });

  test("a plane is adopted once its gateways are gone, and the original is the one that is refused then", async () => {
    const early = await admin(["adopt"], copy, plane.env);
    assert.deepEqual([early.code, /use another database: stop them first/.test(early.said)], [1, true], early.said);
    assert.equal(await live.stop(), 0);
    await eventually("no gateway is connected", async () => (await shown(original, plane)).gateways === 0);
    const adopted = await admin(["adopt"], copy, plane.env);
    assert.equal(adopted.code, 0, adopted.said);
    assert.match(await refusal(original, plane), /belongs to deployment .*tollgate admin deployment adopt/);
  });
});
