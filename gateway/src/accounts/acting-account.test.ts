import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import type { AccountKind, Membership } from "./accounts.ts";
import { chooseActingAccount } from "./acting-account.ts";

const account = (name: string, kind: AccountKind, suspended = false): Membership => ({
  id: name as Uuid,
  kind,
  name,
  suspended,
  role: "owner",
});
const builder = account("builder", "builder");
const shared: Membership = { ...account("shared", "builder"), role: "viewer" };
const second = account("second", "builder");
const host = account("host", "host");
const suspendedBuilder = account("suspended builder", "builder", true);
const suspendedHost = account("suspended host", "host", true);

interface Row {
  accounts: Membership[];
  kind?: AccountKind | "either";
  named?: string;
  operator?: boolean;
  outcome: string;
}

const ROWS: Row[] = [
  { accounts: [], outcome: "no_account" },
  { accounts: [], operator: true, outcome: "other_kind" },
  { accounts: [], named: "builder", outcome: "no_account" },
  { accounts: [builder], outcome: "builder" },
  { accounts: [builder], operator: true, outcome: "builder" },
  { accounts: [shared], outcome: "shared" },
  { accounts: [suspendedBuilder, shared], outcome: "shared" },
  { accounts: [builder, shared], outcome: "several_accounts" },
  { accounts: [builder, shared], named: "shared", outcome: "shared" },
  { accounts: [host], kind: "either", outcome: "host" },
  { accounts: [builder, host], kind: "either", outcome: "several_accounts" },
  { accounts: [builder, host], kind: "either", named: "host", outcome: "host" },
  { accounts: [], kind: "either", operator: true, outcome: "other_kind" },
  { accounts: [host, builder], outcome: "builder" },
  { accounts: [host, builder], kind: "host", outcome: "host" },
  { accounts: [suspendedBuilder, builder], outcome: "builder" },
  { accounts: [builder, second], outcome: "several_accounts" },
  { accounts: [builder, second, host], kind: "host", outcome: "host" },
  { accounts: [builder, second], named: "second", outcome: "second" },
  { accounts: [builder], named: "somebody else's", outcome: "unknown_account" },
  { accounts: [builder, host], named: "host", outcome: "other_kind" },
  { accounts: [builder, host], named: "builder", kind: "host", outcome: "other_kind" },
  { accounts: [suspendedBuilder, builder], named: "suspended builder", outcome: "account_suspended" },
  { accounts: [host], outcome: "other_kind" },
  { accounts: [builder], kind: "host", outcome: "other_kind" },
  { accounts: [suspendedBuilder, host], outcome: "other_kind" },
  { accounts: [suspendedBuilder], outcome: "account_suspended" },
  { accounts: [suspendedBuilder, suspendedHost], outcome: "account_suspended" },
  { accounts: [suspendedBuilder], named: "somebody else's", outcome: "account_suspended" },
  { accounts: [suspendedHost], operator: true, outcome: "account_suspended" },
];

test("a console request acts for the account that it names, or for the identity's only active account of that kind", () => {
  for (const { accounts, kind = "builder", named, operator = false, outcome } of ROWS) {
    const acting = chooseActingAccount({
      accounts,
      kind: kind === "either" ? undefined : kind,
      named: named as Uuid | undefined,
      operator,
    });
    const got = acting.kind === "acts" ? acting.account.name : acting.why;
    assert.equal(got, outcome, JSON.stringify({ accounts: accounts.map(({ name }) => name), kind, named, operator }));
  }
});
