/** Tests the conditions for which a starting gateway waits, and those that end the start. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ListenError } from "../base/listen-error.ts";
import { createLog } from "../base/log.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { WritesRefusedError } from "../db/database-client.ts";
import { WrongDatabaseHistoryError } from "../db/lineage/database-lineage.ts";
import { DatabaseMisconfigured } from "../db/session-settings.ts";
import { MigrationError } from "../db/sql-files.ts";
import {
  type MissingDependency,
  retryUntilDatabaseAvailable,
  retryUntilStarted,
  StoppedWhileWaiting,
} from "./wait-for-dependencies.ts";

const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });

function open() {
  const clock = manualClock();
  const lines: { level: number; reason?: string; msg: string }[] = [];
  const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
  const missing: (string | undefined)[] = [];
  return { clock, log, lines, missing, tell: (now: MissingDependency | undefined) => void missing.push(now?.reason) };
}

describe("a starting gateway", () => {
  test("waits for unreachable services, logs the reason, and continues when they are reachable", async () => {
    const { clock, log, lines, missing, tell } = open();
    const troubles = [
      coded("ECONNREFUSED", "connect ECONNREFUSED"),
      coded("28P01", "password authentication failed"),
      coded("28P01", "password authentication failed"),
      coded("3D000", "database does not exist"),
      new WritesRefusedError("the database is a standby: it takes no writes", "set DATABASE_URL to the primary"),
      new WrongDatabaseHistoryError("it is an old primary"),
      coded("CERT_HAS_EXPIRED", "certificate has expired"),
    ];
    const reasons = troubles.map(({ message, ...more }) =>
      "remedy" in more ? `${message}. Next: ${more.remedy}` : message,
    );
    const started = retryUntilDatabaseAvailable({ clock, log }, tell, async () => {
      const trouble = troubles.shift();
      if (trouble !== undefined) throw trouble;
      return "there";
    });
    for (const _ of reasons) {
      await waitOneTurn();
      clock.advance(1_000);
    }
    assert.equal(await started, "there");
    assert.deepEqual(missing, [...reasons, undefined]);
    const told = lines.filter(({ level }) => level === 50).map(({ reason }) => reason);
    assert.deepEqual(told, [...new Set(reasons)], "each reason once while it lasts");
    assert.equal(lines.at(-1)?.msg, "database is reachable");
  });

  for (const error of [
    new DatabaseMisconfigured("the database has fsync = off"),
    new MigrationError("Migration 0001 failed", { cause: coded("42501") }),
    new TypeError("a bug"),
    coded("ENOENT", "no such file: sslrootcert"),
    new Error("spool/history.json is damaged and cannot be read"),
    new ListenError({ host: "192.0.2.1", port: 1 }, { host: "HOST", port: "PORT" }, coded("EADDRNOTAVAIL")),
  ]) {
    test(`fails on an error that waiting cannot fix: ${error.message}`, async () => {
      const { clock, log, tell } = open();
      for (const wait of [retryUntilDatabaseAvailable, retryUntilStarted]) {
        await assert.rejects(
          wait({ clock, log }, tell, () => Promise.reject(error)),
          error,
        );
      }
    });
  }

  test("ends immediately when it is canceled", async () => {
    const { clock, log, tell } = open();
    const stopped = Promise.withResolvers<void>();
    const waiting = retryUntilDatabaseAvailable({ clock, log, stopped: stopped.promise }, tell, () =>
      Promise.reject(coded("ECONNREFUSED")),
    );
    await waitOneTurn();
    stopped.resolve();
    await assert.rejects(waiting, StoppedWhileWaiting);
  });
});
