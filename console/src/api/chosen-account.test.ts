import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Account } from "./answer-types.ts";
import { chooseAccount, findAccountIdForPath, findChosenAccount, setOwnedAccounts } from "./chosen-account.ts";

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

test("a request names the chosen account only if the person has several accounts of that kind", () => {
  setOwnedAccounts([one, host]);
  assert.equal(findAccountIdForPath("/console/api/keys"), undefined);
  setOwnedAccounts([one, two, host]);
  assert.equal(findAccountIdForPath("/console/api/keys"), "acc_1");
  assert.equal(findAccountIdForPath("/console/api/nodes"), undefined);
});

test("stores one chosen account per kind (builder, host)", () => {
  setOwnedAccounts([one, two, host]);
  chooseAccount(two);
  chooseAccount(host);
  assert.equal(findAccountIdForPath("/console/api/requests.csv"), "acc_2");
  assert.equal(findChosenAccount("host")?.id, "acc_3");
});

test("ignores the stored choice of a suspended or deleted account, and unreadable stored data", () => {
  setOwnedAccounts([account("acc_1", "builder", true), two]);
  chooseAccount(one);
  assert.equal(findChosenAccount("builder")?.id, "acc_2");
  kept.set("tollgate.acting", "{");
  assert.equal(findChosenAccount("builder")?.id, "acc_2");
  setOwnedAccounts([]);
  assert.equal(findChosenAccount("builder"), undefined);
});
