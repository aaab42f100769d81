/** Re-entering requests from the journal after a failover lost them. The tests reset the tables to an earlier copy. */
import assert from "node:assert/strict";
import { readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type Pico, pico } from "../base/money.ts";
import { computeHostShare, timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import { type Disk, systemDisk } from "./disk-interface.ts";
import { type Journal, openJournal } from "./journal.ts";
import { formatJournalLine, type JournalEntry, readJournal } from "./journal-lines.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { LostRequestsReentry } from "./lost-commit-reentry.ts";
import { openSpool } from "./spool.ts";
import { openSpoolReplay } from "./spool-replay.ts";
import { createSpoolDirectory, createTestHold, createTestSettlement, newId, TEST_CHARGE } from "./testing.ts";

const log = createLog("silent");

async function open(t: Pick<TestContext, "after">, name: "requests" | "changes" = "requests", windowMs = 900_000) {
  const directory = await createSpoolDirectory(t);
  const spool = await openSpool({ directory, gatewayId: newId(), clock: systemClock, log });
  const journal = openJournal({ spool, name, windowMs, clock: systemClock, log });
  t.after(async () => {
    await journal.close();
    await spool.close();
  });
  return { journal, directory, spool };
}

async function entriesOf(journal: Pick<Journal, "read">): Promise<JournalEntry[]> {
  const all: JournalEntry[] = [];
  for await (const { entries } of journal.read()) all.push(...entries);
  return all;
}

describe("the journal from which commits that a failover lost are entered again", () => {
  const request = (): JournalEntry => {
    const hold = createTestHold(newId());
    return { kind: "request", hold: { ...hold, label: "a label" }, settlement: createTestSettlement(hold, newId()) };
  };

  test("returns journal entries in order, also to the next gateway that uses the same directory", async (t) => {
    const { journal, directory } = await open(t);
    const change: JournalEntry = { kind: "change", text: '{"id": 9007199254740993, "name": "ü"}' };
    const added = [request(), change, request()];
    for (const entry of added) journal.add(entry);
    assert.deepEqual(await entriesOf(journal), added);
    await journal.close();
    const spool = await openSpool({ directory, gatewayId: "next", clock: systemClock, log });
    t.after(() => spool.close());
    const next = openJournal({ spool, name: "requests", windowMs: 900_000, clock: systemClock, log });
    assert.deepEqual(await entriesOf(next), added);
  });

  test("deletes files older than its time window, unless their entries are still being entered again", async (t) => {
    const { spool, directory } = await open(t);
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const journal = openJournal({ spool, name: "requests", windowMs: 60_000, clock, log });
    t.after(() => journal.close());
    const files = async (): Promise<number> =>
      (await readdir(directory)).filter((name) => name.endsWith(".requests")).length;
    const addLater = async (ms: number): Promise<void> => {
      now += ms;
      journal.add(request());
      await journal.written();
    };
    await addLater(0);
    await addLater(10_000);
    assert.equal(await files(), 2, "a file takes a fifteenth of the window");
    journal.keepAll(true);
    await addLater(120_000);
    assert.equal(await files(), 3);
    journal.keepAll(false);
    await addLater(70_000);
    assert.equal(await files(), 1);
  });

  test("computes the age of other gateways' files by the file system's clock, not by this machine's", async (t) => {
    const { spool, directory } = await open(t);
    const left = async (gateway: string, at: number): Promise<string> => {
      const name = `elsewhere~1~${gateway}~1.requests`;
      await writeFile(join(directory, name), formatJournalLine(request()));
      await utimes(join(directory, name), new Date(at), new Date(at));
      return name;
    };
    const { mtimeMs: now } = await stat(directory);
    const young = await left("young", now - 30_000);
    await left("old", now - 10 * 60_000);
    const clock = { ...systemClock, now: () => systemClock.now() + 6 * 3_600_000 };
    const journal = openJournal({ spool, name: "requests", windowMs: 5 * 60_000, clock, log });
    t.after(() => journal.close());
    journal.add(request());
    await journal.written();
    const theirs = (await readdir(directory)).filter((name) => name.startsWith("elsewhere"));
    assert.deepEqual(theirs, [young]);
  });

  test("reports how many entries were deleted by size or age or could not be written, and their time range", async (t) => {
    const { spool } = await open(t);
    let at = 0;
    const clock = { ...systemClock, monotonic: () => at, now: () => at };
    let isFull = false;
    const disk: Disk = {
      ...systemDisk,
      open: async (...given) => {
        if (isFull && given[1] === "wx") throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        return await systemDisk.open(...given);
      },
    };
    const openOne = (bytesMax?: number): Journal =>
      openJournal({
        spool: { ...spool, disk },
        name: "requests",
        windowMs: 60_000,
        clock,
        log,
        ...(bytesMax && { bytesMax }),
      });
    const gapsOf = async (journal: Journal) => {
      const gaps: unknown[] = [];
      for (const entry of await entriesOf(journal)) {
        if (entry.kind !== "gap") continue;
        const { kind: _, ...gap } = entry;
        gaps.push(gap);
      }
      return gaps;
    };
    const small = openOne(1);
    t.after(() => small.close());
    const add = async (journal: Journal, now: number): Promise<void> => {
      at = now;
      journal.add(request());
      await journal.written();
    };
    await add(small, 0);
    await add(small, 1_000);
    await add(small, 10_000);
    const bySize = { lines: 2, from: 0, to: 1_000, reason: "size" };
    assert.deepEqual(await gapsOf(small), [bySize]);
    await add(small, 20_000);
    assert.deepEqual(
      await gapsOf(small),
      [{ ...bySize, lines: 3, to: 10_000 }],
      "with the entries of the deleted line",
    );

    isFull = true;
    await add(small, 30_000);
    await add(small, 31_000);
    const unwritten = { lines: 2, from: 30_000, to: 31_000, reason: "unwritten" };
    assert.deepEqual((await gapsOf(small)).at(-1), unwritten, "before it can be stored");
    isFull = false;
    await add(small, 32_000);
    assert.deepEqual(await gapsOf(small), [unwritten, { ...bySize, lines: 4, to: 20_000 }]);
  });

  test("reports how many entries were deleted because they were older than its time window, and their time range", async (t) => {
    const { spool } = await open(t);
    let at = 0;
    const clock = { ...systemClock, monotonic: () => at, now: () => at };
    const journal = openJournal({ spool, name: "requests", windowMs: 60_000, clock, log });
    t.after(() => journal.close());
    for (const now of [0, 3_000, 70_000]) {
      at = now;
      journal.add(request());
      await journal.written();
    }
    const gaps = (await entriesOf(journal)).filter(({ kind }) => kind === "gap");
    assert.deepEqual(gaps, [{ kind: "gap", lines: 2, from: 0, to: 3_000, reason: "age" }]);
  });

  test("counts unreadable lines and reads the others", () => {
    const [one, other] = [request(), request()];
    const damaged = formatJournalLine(one).replace('"kind"', '"kinb"');
    assert.deepEqual(readJournal(damaged + formatJournalLine(other)), { entries: [other], unread: 1 });
  });
});

describe("entering commits again that a failover lost", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let host: Uuid;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
    await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
    host = await account("host");
  });
  after(() => db.close());

  const account = async (kind: "builder" | "host", credit = 0n): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, $2, 'one')", [id, kind]);
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (credit > 0n)
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: pico(credit), reason: "t" });
    return id;
  };
  const balance = async (id: Uuid): Promise<Pico> => (await ledger.balance(id))?.balance as Pico;
  const journalOf = (entries: JournalEntry[]): Pick<Journal, "read" | "add"> => ({
    add() {},
    async *read() {
      yield { entries, unread: 0 };
    },
  });
  const enter = async (entries: JournalEntry[]): Promise<Pick<LostRequestsReentry, "entered" | "notEntered">> => {
    const reentry = new LostRequestsReentry({ pool: db.pool, ledger, journal: journalOf(entries), lostSince: 0 });
    await reentry.run();
    return { entered: reentry.entered, notEntered: reentry.notEntered };
  };
  const assertBalanced = async (): Promise<void> => {
    const differing = (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
    assert.deepEqual(differing, []);
  };
  const lostRequest = (accountId: Uuid, paidHost: Uuid | null = host) => {
    const hold = createTestHold(accountId);
    return { kind: "request" as const, hold, settlement: createTestSettlement(hold, paidHost) };
  };

  test("charges a lost request once, pays its host, and skips requests that are still in the database", async () => {
    const builder = await account("builder", 5_000_000n);
    const [there, held, lost] = [lostRequest(builder), lostRequest(builder), lostRequest(builder)];
    await ledger.hold(there.hold);
    await ledger.settle(there.settlement);
    // The new primary has this request's hold, but not its settlement.
    await ledger.hold(held.hold);
    const before = await balance(host);
    assert.deepEqual(await enter([there, held, lost]), { entered: 2, notEntered: [] });
    assert.deepEqual(
      await enter([there, held, lost]),
      { entered: 0, notEntered: [] },
      "a second time nothing is missing",
    );
    assert.deepEqual(await ledger.balance(builder), { balance: 5_000_000n - 3n * TEST_CHARGE, held: 0n });
    assert.equal((await balance(host)) - before, 2n * computeHostShare(TEST_CHARGE));
    const { rows } = await db.pool.query("select outcome, model, prompt_tokens, key_id from request where id = $1", [
      lost.hold.id,
    ]);
    assert.deepEqual(rows, [{ outcome: "ok", model: "tiny-3b", prompt_tokens: 3, key_id: lost.hold.keyId }]);
    await assertBalanced();
  });

  test("charges a lost request once when several gateways enter it concurrently", async () => {
    const builder = await account("builder", 50_000_000n);
    const lost = Array.from({ length: 20 }, () => lostRequest(builder));
    await Promise.all([enter(lost), enter(lost), enter([...lost].reverse())]);
    assert.equal(await balance(builder), 50_000_000n - 20n * TEST_CHARGE);
    await assertBalanced();
  });

  test("settles a request whose hold was lost while the request was answered", async () => {
    const builder = await account("builder", 5_000_000n);
    const added: JournalEntry[] = [];
    const journal = { add: (entry: JournalEntry) => void added.push(entry), written: async () => {} };
    const own = openLedger({
      pool: db.pool,
      clock: timeoutFreeClock,
      gatewayId: "own",
      journals: { requests: journal },
    });
    const { hold, settlement } = lostRequest(builder);
    await own.hold(hold);
    await db.pool.query("delete from hold where id = $1", [hold.id]);
    await db.pool.query("update ledger_account set held = 0 where id = $1", [builder]);
    assert.equal(await own.settle(settlement), "late");
    assert.equal(await balance(builder), 5_000_000n - TEST_CHARGE);
    assert.deepEqual(added, [{ kind: "request", hold, settlement }]);
    await assertBalanced();
  });

  test("journals requests of another gateway's spool and re-entered requests, for the next failover", async (t) => {
    const builder = await account("builder", 5_000_000n);
    const [left, lost] = [lostRequest(builder), lostRequest(builder)];
    await ledger.hold(left.hold);
    const { journal, spool, directory } = await open(t);
    const dead = await openSpool({
      directory,
      gatewayId: "dead",
      clock: systemClock,
      log,
      pid: 1,
      host: spool.owner.host,
    });
    await dead.append({ ...left.settlement, hold: left.hold });
    await dead.close();
    const next = openLedger({
      pool: db.pool,
      clock: timeoutFreeClock,
      gatewayId: "next",
      journals: { requests: journal },
    });
    const replay = openSpoolReplay({ spool, clock: timeoutFreeClock, log, ledger: next, isAlive: () => false });
    t.after(() => replay.stop());
    assert.equal(await replay.run(), true);
    assert.deepEqual(await entriesOf(journal), [left]);
    await new LostRequestsReentry({ pool: db.pool, ledger: next, journal: journalOf([lost]), lostSince: 0 }).run();
    assert.deepEqual(await entriesOf(journal), [left, lost]);
    assert.equal(await balance(builder), 5_000_000n - 2n * TEST_CHARGE);
    await assertBalanced();
  });

  test("lists the journal's gaps during the lost time, with the number of lines, the time range and the reason", async () => {
    const gap = { kind: "gap" as const, lines: 7, from: 1_000, to: 2_000, reason: "age" as const };
    const entries = [
      gap,
      { ...gap, to: 3_000, reason: "size" as const },
      { ...gap, to: 4_000, reason: "unwritten" as const },
    ];
    const reentry = new LostRequestsReentry({ pool: db.pool, ledger, journal: journalOf(entries), lostSince: 2_500 });
    await reentry.run();
    const [size, unwritten] = [
      "deleted because the journal reached its size limit: 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:03.000Z",
      "could not be written to the disk: 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:04.000Z",
    ];
    assert.deepEqual(
      reentry.notEntered,
      [size, unwritten].map((reason) => ({ kind: "journal", id: "7 lines", reason })),
    );
    const longer = new LostRequestsReentry({ pool: db.pool, ledger, journal: journalOf(entries), lostSince: 2_000 });
    await longer.run();
    assert.match(
      longer.notEntered[0]?.reason ?? "",
      /^deleted because they were older than REPLAY_WINDOW; this list may lack commits .*: /,
    );
  });

  test("does not enter a request whose account was lost or whose charge exceeds its account's balance, and lists it for the operator", async () => {
    const [gone, poor] = [lostRequest(newId()), lostRequest(await account("builder", 1n))];
    const { entered, notEntered } = await enter([gone, poor]);
    assert.equal(entered, 1);
    assert.deepEqual(notEntered, [
      {
        kind: "request",
        id: publicId("req", poor.hold.id),
        reason: "only part of the charge was taken: after the failover, the account has too little credit",
      },
      { kind: "request", id: publicId("req", gone.hold.id), reason: "its account does not exist in this history" },
    ]);
    await assertBalanced();
  });
});
