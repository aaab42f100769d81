/** A month of request records is exported to files before it is dropped. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { parseId, publicId } from "../base/ids.ts";
import { DAY_MS } from "../base/time.ts";
import { createTestSettlement } from "../ledger/testing.ts";
import { exportMonth } from "./month-export.ts";
import { formatMonth, monthsAgo } from "./testing-past-months.ts";
import { countDaysOfLastMonths, openRetentionRig, PAST_MONTHS, type RetentionRig } from "./testing-retention.ts";

let rig: RetentionRig;
beforeEach(async () => {
  rig = await openRetentionRig();
});
afterEach(() => rig.close());

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-export-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

describe("the export of a month", () => {
  const linesOf = async (folder: string, file: string): Promise<string[]> =>
    gunzipSync(await readFile(join(folder, file)))
      .toString()
      .split("\r\n")
      .slice(0, -1);

  test("contains every record exactly, and a manifest that verifies it", async (t) => {
    const exportDir = await newFolder(t);
    await rig.openPast();
    const month = formatMonth(monthsAgo(PAST_MONTHS));
    const { rows } = await rig.db.pool.query(`select * from request_${month.replace("-", "_")} order by id`);
    const done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(1), exportDir }).retain();
    const file = `requests-${month}.csv.gz`;
    assert.deepEqual((await readdir(exportDir)).toSorted(), [file, `requests-${month}.json`]);
    const manifest = JSON.parse(await readFile(join(exportDir, `requests-${month}.json`), "utf8"));
    const sha256 = createHash("sha256")
      .update(await readFile(join(exportDir, file)))
      .digest("hex");
    const [closed] = done?.closed ?? [];
    assert.deepEqual([closed?.export, closed?.sha256, closed?.rows], [file, sha256, BigInt(rows.length)]);
    const sumOf = (name: string): string => String(rows.reduce((total, one) => total + one[name], 0n));
    assert.deepEqual(
      [manifest.month, manifest.file, manifest.sha256, manifest.rows, manifest.charge_pico, manifest.host_pico],
      [month, file, sha256, String(rows.length), sumOf("charge_pico"), sumOf("host_pico")],
    );
    const [header = "", ...lines] = await linesOf(exportDir, file);
    assert.deepEqual(header.split(","), manifest.columns);
    assert.equal(lines.length, rows.length);
    const cells = lines.map(
      (line) => line.match(/("([^"]|"")*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, "")) ?? [],
    );
    const at = (name: string): number => manifest.columns.indexOf(name);
    for (const [i, record] of rows.entries()) {
      const cell = (name: string): string | undefined => cells[i]?.[at(name)];
      const text = (value: unknown): string => String(value ?? "");
      assert.equal(parseId("req", cell("id") ?? ""), record.id);
      assert.equal(cell("account_id"), publicId("acc", record.account_id));
      assert.equal(
        cell("host_account_id"),
        record.host_account_id === null ? "" : publicId("acc", record.host_account_id),
      );
      for (const name of [
        "outcome",
        "charge_pico",
        "host_pico",
        "hold_pico",
        "short_pico",
        "price_version",
        "prompt_tokens",
        "completion_tokens",
        "own",
      ]) {
        assert.equal(cell(name), text(record[name]), name);
      }
      assert.equal(cell("created_at"), record.created_at.toISOString());
    }
    const labels = cells.map((line) => line[at("label")]);
    assert.ok(labels.includes("'=first") && labels.includes('"last, of the month"'));
    assert.deepEqual(await rig.differing(), []);
  });

  test("is repeated with equal bytes if the gateway died after completing it, and then the month is dropped", async (t) => {
    const exportDir = await newFolder(t);
    await rig.openPast();
    const month = formatMonth(monthsAgo(PAST_MONTHS));
    const client = await rig.db.pool.connect();
    const first = await exportMonth(client, { month, directory: exportDir, signal: new AbortController().signal });
    client.release();
    await writeFile(join(exportDir, `requests-${month}.csv.gz.partial`), "half of anoth");
    assert.equal((await rig.partitions())[0], month);
    const done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(1), exportDir }).retain();
    assert.deepEqual(
      done?.closed.map(({ sha256 }) => sha256),
      [first.sha256],
    );
    assert.equal((await readdir(exportDir)).length, 2);
  });

  test("is written again if the existing file contains outdated records", async (t) => {
    const exportDir = await newFolder(t);
    const at = new Date(monthsAgo(PAST_MONTHS).getTime() + DAY_MS);
    const order = await rig.lost(at);
    const month = formatMonth(at);
    const client = await rig.db.pool.connect();
    const exported = await exportMonth(client, { month, directory: exportDir, signal: new AbortController().signal });
    client.release();
    assert.equal(await rig.ledger.settle(createTestSettlement(order, rig.host)), "late");
    await rig.rollUp();
    const close = (fingerprint: bigint) =>
      rig.db.pool.query("select history_close_month($1::date, 0, $2, 'a', 'b')", [
        `${month}-01`,
        fingerprint.toString(),
      ]);
    await assert.rejects(close(exported.fingerprint), /its records changed since they were exported/);
    assert.equal(
      (await rig.retentionOf({ historyDays: countDaysOfLastMonths(1), exportDir }).retain())?.closed.length,
      1,
    );
    const [, ...lines] = await linesOf(exportDir, exported.file);
    assert.match(lines.join(), /,ok,200,/);
  });

  test("prevents the drop of the month if it cannot be written", async (t) => {
    const folder = await newFolder(t);
    const exportDir = join(folder, "a file");
    await writeFile(exportDir, "");
    const before = await rig.partitions();
    await assert.rejects(
      rig.retentionOf({ historyDays: countDaysOfLastMonths(1), exportDir }).retain(),
      /EEXIST|ENOTDIR/,
    );
    assert.deepEqual(await rig.partitions(), before);
    // The failed export leaves no lock behind.
    assert.equal((await rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain())?.closed.length, 1);
  });
});
