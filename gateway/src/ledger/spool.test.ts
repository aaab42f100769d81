import assert from "node:assert/strict";
import { appendFile, readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { manualClock } from "../base/testing.ts";
import { DAY_MS } from "../base/time.ts";
import { type Disk, systemDisk } from "./disk-interface.ts";
import type { Settlement, SettleOutcome } from "./settlement-sql.ts";
import { makeWorkerDirectoryPath, openSpool, type Spool } from "./spool.ts";
import { formatSettlementLine, readLines } from "./spool-lines.ts";
import { openSpoolReplay } from "./spool-replay.ts";
import { createSpoolDirectory, createTestSettlement, newId } from "./testing.ts";

const log = createLog("silent");
const HERE = "machine";
const DEAD = 4_000_000;

const ended = (): Settlement => createTestSettlement({ id: newId(), accountId: newId() }, newId());
const spools = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).filter((name) => name.endsWith(".spool"));
const linesOf = async (directory: string): Promise<Settlement[]> => {
  const texts = await Promise.all((await spools(directory)).map((name) => readFile(join(directory, name), "utf8")));
  return texts.flatMap((text) => readLines(text).settlements);
};
const open = (directory: string, gatewayId: string, pid = process.pid, host = HERE): Promise<Spool> =>
  openSpool({ directory, gatewayId, clock: systemClock, log, pid, host });

/** Opens a replay of the directory into a ledger that is a map from request ID to the number of settlements. */
async function replaying(t: TestContext, spool: Spool, books = new Map<Uuid, number>(), clock: Clock = systemClock) {
  const state = {
    isAway: false,
    refused: undefined as Uuid | undefined,
    secured: [] as Settlement[],
    beforeRemoval: async () => {},
  };
  const replay = openSpoolReplay({
    spool,
    clock,
    log,
    isAlive: (pid) => pid !== DEAD,
    ledger: {
      async trySettling({ id }): Promise<SettleOutcome> {
        if (state.isAway) throw new UnreachableError("database", "no answer");
        if (id === state.refused) throw Object.assign(new Error("violates a constraint"), { code: "23514" });
        books.set(id, (books.get(id) ?? 0) + 1);
        await state.beforeRemoval();
        return books.get(id) === 1 ? "settled" : "repeated";
      },
      secure: async (settlement) => void state.secured.push(settlement),
    },
  });
  t.after(() => replay.stop());
  return { replay, books, state };
}

describe("spool lines (settlements on disk)", () => {
  test("are parsed back unchanged, including numbers beyond JavaScript's range", () => {
    const all = [ended(), { ...ended(), charge: pico(2n ** 62n + 1n), nodeId: null, paidHostId: null, ttftMs: null }];
    assert.deepEqual(readLines(all.map(formatSettlementLine).join("")), { settlements: all, damaged: 0, foreign: 0 });
  });

  test("contain a withheld share, and lines of older gateways without one can be read", () => {
    const paid = ended();
    assert.doesNotMatch(formatSettlementLine(paid), /withheld/);
    const withheld = { ...ended(), paidHostId: null, withheld: { hostId: newId(), reason: "node_failed" as const } };
    assert.deepEqual(readLines(formatSettlementLine(paid) + formatSettlementLine(withheld)).settlements, [
      paid,
      withheld,
    ]);
  });

  test("are read up to a last line that is cut off", () => {
    const [first, last] = [ended(), ended()];
    const [whole, cut] = [formatSettlementLine(first), formatSettlementLine(last)];
    for (let length = 0; length < cut.length; length++)
      assert.deepEqual(readLines(whole + cut.slice(0, length)), { settlements: [first], damaged: 0, foreign: 0 });
    assert.deepEqual(readLines(`${whole}${cut.slice(0, 40)}\n`).settlements, [first]);
  });

  test("are reported if they have a wrong checksum or come from a newer gateway", () => {
    const [first, last] = [ended(), ended()];
    const damaged = formatSettlementLine(ended()).replace('"httpStatus":200', '"httpStatus":201');
    assert.deepEqual(readLines(formatSettlementLine(first) + damaged + formatSettlementLine(last)), {
      settlements: [first, last],
      damaged: 1,
      foreign: 0,
    });
    const newer = formatSettlementLine({ ...first, surcharge: 1 } as unknown as Settlement);
    assert.deepEqual(readLines(newer + formatSettlementLine(last)), { settlements: [last], damaged: 0, foreign: 1 });
  });
});

describe("a gateway's own spool file", () => {
  test("holds open settlements, is readable only by its user, and is emptied when none is open", async (t) => {
    const directory = await createSpoolDirectory(t);
    const spool = await open(directory, "a");
    const all = [ended(), ended(), ended()];
    await Promise.all(all.map((settlement) => spool.append(settlement)));
    assert.deepEqual(await linesOf(directory), all);
    const [name] = await spools(directory);
    const file = join(directory, name as string);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    for (const { id } of all) spool.done(id);
    await eventually("it is empty", async () => (await stat(file)).size === 0);
    const next = ended();
    await spool.append(next);
    assert.deepEqual(await linesOf(directory), [next]);
    await spool.close();
    assert.deepEqual(await linesOf(directory), [next], "what is open stays");
  });

  test("is removed when the gateway stops and no settlement is open", async (t) => {
    const directory = await createSpoolDirectory(t);
    const spool = await open(directory, "a");
    const settlement = ended();
    await spool.append(settlement);
    spool.done(settlement.id);
    await spool.close();
    assert.deepEqual(await spools(directory), []);
  });

  test("is created again after someone deleted it, before another settlement is confirmed", async (t) => {
    const directory = await createSpoolDirectory(t);
    const spool = await open(directory, "a");
    const [first, second] = [ended(), ended()];
    await spool.append(first);
    for (const name of await spools(directory)) await rm(join(directory, name));
    await spool.append(second);
    assert.deepEqual(await linesOf(directory), [first, second]);
    await spool.close();
  });

  test("reports a full disk, and moves open settlements to a new file once the disk accepts writes", async (t) => {
    const directory = await createSpoolDirectory(t);
    const spool = await open(directory, "a");
    const [first, second] = [ended(), ended()];
    await spool.append(first);
    // Renames the directory away, so that the spool can write no file, not even as root.
    await rename(directory, `${directory}-away`);
    await assert.rejects(spool.append(second), { code: "ENOENT" });
    await assert.rejects(spool.append(second), { code: "ENOENT" });
    await rename(`${directory}-away`, directory);
    await spool.append(second);
    assert.deepEqual(await linesOf(directory), [first, second]);
    await spool.close();
  });

  test("keeps a record of each given-up settlement, with its reason, which can be entered again", async (t) => {
    const directory = await createSpoolDirectory(t);
    const spool = await open(directory, "a");
    const all = [ended(), ended()];
    for (const settlement of all) await spool.giveUp(settlement, "no such thing");
    const text = await readFile(join(directory, "given-up.jsonl"), "utf8");
    const notes = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      notes.map(({ request, reason }) => [request.slice(0, 4), reason]),
      [
        ["req_", "no such thing"],
        ["req_", "no such thing"],
      ],
    );
    assert.deepEqual(readLines(notes.map(({ line }) => `${line}\n`).join("")).settlements, all);
    await spool.close();
  });
});

test("a spool on a full disk fails to open, and leaves no incomplete file", async (t) => {
  const directory = await createSpoolDirectory(t);
  const full: Disk = {
    ...systemDisk,
    // Simulates a full ext4 disk, where files can be created but not written.
    async open(...where) {
      const handle = await systemDisk.open(...where);
      const write = async (): Promise<never> => {
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      };
      return new Proxy(handle, {
        get(target, name) {
          const value = Reflect.get(target, name) as unknown;
          return name === "write" ? write : typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
  await assert.rejects(openSpool({ directory, gatewayId: "mine", clock: systemClock, log, disk: full }), {
    code: "ENOSPC",
  });
  assert.deepEqual(await readdir(directory), []);
});

describe("spool files of other gateways", () => {
  test("are settled once and removed when their gateway is gone", async (t) => {
    const directory = await createSpoolDirectory(t);
    const [dead, mine] = [await open(directory, "dead", DEAD), await open(directory, "mine")];
    const all = [ended(), ended()];
    await Promise.all(all.map((settlement) => dead.append(settlement)));
    await dead.close();
    const { replay, books, state } = await replaying(t, mine);
    state.isAway = true;
    await replay.run();
    assert.deepEqual(await linesOf(directory), all, "the store is away: everything stays");
    state.isAway = false;
    await replay.run();
    await replay.run();
    assert.deepEqual(
      all.map(({ id }) => books.get(id)),
      [1, 1],
    );
    assert.deepEqual(await linesOf(directory), []);
    assert.equal((await spools(directory)).length, 1, "its own is left");
    await mine.close();
  });

  test("are settled although the database refuses one of the settlements, which stays on disk", async (t) => {
    const directory = await createSpoolDirectory(t);
    const dead = await open(directory, "dead", DEAD);
    const all = Array.from({ length: 300 }, ended);
    await Promise.all(all.map((settlement) => dead.append(settlement)));
    await dead.close();
    const mine = await open(directory, "mine");
    const { replay, books, state } = await replaying(t, mine);
    state.refused = all[0]?.id;
    assert.equal(await replay.run(), false);
    assert.equal(books.size, 299);
    assert.equal((await linesOf(directory)).length, 300);
    state.refused = undefined;
    assert.equal(await replay.run(), true);
    assert.deepEqual([...new Set(books.values())], [1]);
    assert.deepEqual(await linesOf(directory), []);
    await mine.close();
  });

  test("are distinguished from this gateway's own file, even if this gateway has the process ID of an earlier one", async (t) => {
    const directory = await createSpoolDirectory(t);
    const before = await open(directory, "before", 1);
    const settlement = ended();
    await before.append(settlement);
    await before.close();
    const mine = await open(directory, "mine", 1);
    const { replay, books } = await replaying(t, mine);
    await replay.run();
    assert.equal(books.get(settlement.id), 1);
    assert.deepEqual(await linesOf(directory), []);
    await mine.close();
  });

  test("charge once when their gateway died between the commit and emptying the file", async (t) => {
    const directory = await createSpoolDirectory(t);
    const dead = await open(directory, "dead", DEAD);
    const settlement = ended();
    await dead.append(settlement);
    const mine = await open(directory, "mine");
    const { replay, books } = await replaying(t, mine, new Map([[settlement.id, 1]]));
    await replay.run();
    assert.equal(books.get(settlement.id), 2, "it was sent, and the books said that they have it");
    assert.deepEqual(await linesOf(directory), []);
    await Promise.all([dead.close(), mine.close()]);
  });

  test("are settled at once; the file is kept while its gateway runs or, if that is on another machine, until an hour after the last change", async (t) => {
    const directory = await createSpoolDirectory(t);
    const living = await open(directory, "living", 77);
    const remote = await open(directory, "remote", 1, "elsewhere");
    const [ours, theirs] = [ended(), ended()];
    await Promise.all([living.append(ours), remote.append(theirs)]);
    const mine = await open(directory, "mine");
    const clock = manualClock();
    // Scans only when the test asks, not every minute.
    const { replay, books } = await replaying(t, mine, new Map(), { ...clock, every: () => () => {} });
    const names = await spools(directory);
    // Sets a file's last write time. The days are arbitrary: another machine's clock may differ from this one's.
    const touched = async (gateway: string, day: number): Promise<void> => {
      const name = names.find((each) => each.includes(`~${gateway}~`)) as string;
      await utimes(join(directory, name), new Date(day * DAY_MS), new Date(day * DAY_MS));
    };
    await replay.run();
    await replay.run();
    assert.deepEqual([books.get(ours.id), books.get(theirs.id)], [1, 1], "nothing is sent every minute");
    clock.advance(60 * 60 * 1000);
    await touched("remote", 1);
    await touched("living", 1);
    await replay.run();
    clock.advance(60 * 60 * 1000);
    await touched("living", 2);
    await replay.run();
    assert.equal((await linesOf(directory)).length, 2, "both were written within the hour");
    clock.advance(1);
    await replay.run();
    assert.deepEqual(await linesOf(directory), [ours]);
    const next = ended();
    await remote.append(next);
    assert.deepEqual(
      (await linesOf(directory)).map(({ id }) => id).sort(),
      [ours.id, theirs.id, next.id].sort(),
      "it lived all the same, and wrote it all again",
    );
    await Promise.all([living.close(), remote.close(), mine.close()]);
  });

  test("lose no line that their gateway writes while they are removed", async (t) => {
    const directory = await createSpoolDirectory(t);
    const other = await open(directory, "other", DEAD);
    const [first, second] = [ended(), ended()];
    await other.append(first);
    const mine = await open(directory, "mine");
    const { replay, state } = await replaying(t, mine);
    // The other gateway writes after its file was read, and before the file is removed.
    state.beforeRemoval = () => other.append(second);
    await replay.run();
    assert.deepEqual(state.secured, [second]);
    await Promise.all([other.close(), mine.close()]);
  });

  test("are read despite a line that is cut off, renamed if damaged, and kept if written by a newer gateway", async (t) => {
    const directory = await createSpoolDirectory(t);
    const mine = await open(directory, "mine");
    const [torn, damaged, newer] = [ended(), ended(), ended()];
    const file = (gateway: string): string => join(directory, `${HERE}~${DEAD}~${gateway}~1.spool`);
    await writeFile(file("torn"), formatSettlementLine(torn));
    await appendFile(file("torn"), formatSettlementLine(ended()));
    await truncate(file("torn"), formatSettlementLine(torn).length + 30);
    await writeFile(file("damaged"), `nonsense\n${formatSettlementLine(damaged)}`);
    await writeFile(
      file("newer"),
      formatSettlementLine({ ...ended(), surcharge: 1 } as unknown as Settlement) + formatSettlementLine(newer),
    );
    const { replay, books } = await replaying(t, mine);
    await replay.run();
    await replay.run();
    assert.deepEqual(
      [torn, damaged, newer].map(({ id }) => books.get(id)),
      [1, 1, 1],
    );
    assert.deepEqual((await readdir(directory)).filter((name) => name.includes(`${DEAD}`)).sort(), [
      `${HERE}~${DEAD}~damaged~1.spool.damaged`,
      `${HERE}~${DEAD}~newer~1.spool`,
    ]);
    await mine.close();
  });
});

test("a gateway settles the spool files in the directories of all its worker processes", async (t) => {
  const root = await createSpoolDirectory(t);
  const [left, right] = [ended(), ended()];
  const options = { clock: systemClock, log, host: HERE, root };
  const dead = await openSpool({
    ...options,
    directory: makeWorkerDirectoryPath(root, 1),
    gatewayId: "dead",
    pid: DEAD,
  });
  await dead.append(left);
  const alone = await openSpool({ ...options, directory: root, gatewayId: "alone", pid: DEAD });
  await alone.append(right);
  const next = await openSpool({ ...options, directory: makeWorkerDirectoryPath(root, 2), gatewayId: "next" });
  assert.deepEqual(await next.directories(), [
    root,
    makeWorkerDirectoryPath(root, 1),
    makeWorkerDirectoryPath(root, 2),
  ]);
  const { replay, books } = await replaying(t, next);
  await replay.run();
  assert.deepEqual([...books.keys()].sort(), [left.id, right.id].sort());
  assert.deepEqual(await spools(makeWorkerDirectoryPath(root, 1)), []);
  assert.deepEqual(await spools(root), []);
  await next.close();
});
