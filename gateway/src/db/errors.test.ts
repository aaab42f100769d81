import assert from "node:assert/strict";
import { test } from "node:test";
import { Away } from "../base/dependency.ts";
import { isConnectionLoss, isStorageTrouble, provesBug } from "./errors.ts";

const coded = (code: string): Error => Object.assign(new Error("refused"), { code });

test("trouble of the store may be tried again, whatever it is; only what proves a bug is final", () => {
  const trouble = ["53100", "53200", "53300", "58030", "40001", "40P01", "08006", "57014", "57P01", "25006", "XX000"];
  for (const error of [...trouble, "ECONNRESET", "ENOENT", "EHOSTUNREACH"].map(coded))
    assert.deepEqual([isStorageTrouble(error), provesBug(error)], [true, false], String(Object.entries(error)));
  const away = new Away("database", "no answer");
  assert.deepEqual([isStorageTrouble(away), provesBug(away)], [true, false]);
  const lost = new Error("Connection terminated unexpectedly");
  assert.deepEqual([isStorageTrouble(lost), isConnectionLoss(lost), provesBug(lost)], [true, true, false]);
  for (const code of ["22003", "23514", "42P01", "42883", "P0001"])
    assert.deepEqual([isStorageTrouble(coded(code)), provesBug(coded(code))], [false, true], code);
  // Neither an outage nor a bug of ours: a grant, a lock, a role. It is tried again, and somebody is told.
  for (const code of ["42501", "55P03", "28000"])
    assert.deepEqual([isStorageTrouble(coded(code)), provesBug(coded(code))], [false, false], code);
  for (const error of [new TypeError("x is undefined"), "a text", undefined]) assert.equal(provesBug(error), true);
});
