import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import type { Account, AccountKind } from "./accounts.ts";
import { chooseMember } from "./member.ts";

const account = (name: string, kind: AccountKind, suspended = false): Account => ({
  id: name as Uuid,
  kind,
  name,
  suspended,
});
const builder = account("builder", "builder");
const host = account("host", "host");
const suspendedBuilder = account("suspended builder", "builder", true);
const suspendedHost = account("suspended host", "host", true);

const ROWS: { accounts: Account[]; operator?: boolean; outcome: string }[] = [
  { accounts: [], outcome: "no_account" },
  { accounts: [], operator: true, outcome: "member_only" },
  { accounts: [builder], outcome: "builder" },
  { accounts: [builder], operator: true, outcome: "builder" },
  { accounts: [host, builder], outcome: "builder" },
  { accounts: [suspendedBuilder, builder], outcome: "builder" },
  { accounts: [builder, account("younger", "builder")], outcome: "builder" },
  { accounts: [host], outcome: "member_only" },
  { accounts: [suspendedBuilder, host], outcome: "member_only" },
  { accounts: [suspendedBuilder], outcome: "account_suspended" },
  { accounts: [suspendedBuilder, suspendedHost], outcome: "account_suspended" },
  { accounts: [suspendedHost], operator: true, outcome: "account_suspended" },
];

test("a member acts for its oldest builder account that is not suspended", () => {
  for (const { accounts, operator = false, outcome } of ROWS) {
    const membership = chooseMember(accounts, { operator });
    const got = membership.kind === "member" ? membership.account.name : membership.why;
    assert.equal(got, outcome, JSON.stringify({ accounts: accounts.map(({ name }) => name), operator }));
  }
});
