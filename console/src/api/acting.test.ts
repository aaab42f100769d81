import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { actFor, actingAccount, actingFor, knowAccounts } from "./acting.ts";
import type { Account } from "./types.ts";

const kept = new Map<string, string>();
Object.defineProperty(globalThis, "localStorage", {
  configurable: true,
  value: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
  },
});

const account = (id: string, kind: Account["kind"], suspended = false): Account => ({
  id,
  kind,
  name: id,
  suspended,
  role: "owner",
  may: ["read"],
});
const [one, two, host] = [account("acc_1", "builder"), account("acc_2", "builder"), account("acc_3", "host")];

beforeEach(() => kept.clear());

test("sends the chosen account's ID only if the person has several accounts of that kind", () => {
  knowAccounts([one, host]);
  assert.equal(actingFor("/console/api/keys"), undefined);
  knowAccounts([one, two, host]);
  assert.equal(actingFor("/console/api/keys"), "acc_1");
  assert.equal(actingFor("/console/api/nodes"), undefined);
});

test("stores one chosen account per kind (builder, host)", () => {
  knowAccounts([one, two, host]);
  actFor(two);
  actFor(host);
  assert.equal(actingFor("/console/api/requests.csv"), "acc_2");
  assert.equal(actingAccount("host")?.id, "acc_3");
});

test("ignores a stored choice that is suspended, deleted or unreadable", () => {
  knowAccounts([account("acc_1", "builder", true), two]);
  actFor(one);
  assert.equal(actingAccount("builder")?.id, "acc_2");
  kept.set("tollgate.acting", "{");
  assert.equal(actingAccount("builder")?.id, "acc_2");
  knowAccounts([]);
  assert.equal(actingAccount("builder"), undefined);
});
