import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Role } from "@tollgate/api/roles.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openAccounts } from "./accounts.ts";
import { type Identities, openIdentities } from "./identities.ts";
import type { Email } from "./mail-sender.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";
import { cheapPasswordHash } from "./testing/cheap-password-hash.ts";

const newId = newIds(systemClock, systemRandom());
let database: TestDatabase;
let identities: Identities;
/** A second identity service on the same database, with email configured. */
let mailing: Identities;
const emails: Email[] = [];

before(async () => {
  database = await openTestDatabase();
  const { pool } = database;
  const secret = "a secret of tests, 32 characters or more";
  const shared = {
    pool,
    newId,
    secret,
    log: createLog("silent"),
    publicUrl: "https://gate.test",
    passwordHash: cheapPasswordHash,
  };
  const mail = { delivers: true, send: async (email: Email) => void emails.push(email) };
  identities = await openIdentities(shared);
  mailing = await openIdentities({ ...shared, mail, verifyEmails: true });
});
after(() => database.close());

let people = 0;
async function person(emailVerified = true) {
  const email = `person-${people++}@example.test`;
  const identityId = await identities.create({ email, password: "a long password", name: "A person", operator: false });
  return { identityId, email, emailVerified };
}
type Person = Awaited<ReturnType<typeof person>>;

async function owned(kind: "builder" | "host" = "builder") {
  const owner = await person();
  const accountId = await openAccounts({ pool: database.pool, newId }).open(kind, "Shared");
  await identities.own(owner.identityId, accountId);
  return { owner, accountId };
}

const tokenIn = (text: string | null): string => decodeURIComponent(/#token=(\S+)/.exec(text ?? "")?.[1] ?? "");

async function invite(accountId: Uuid, who: Person, role: Role, by: Person): Promise<string> {
  const sent = await identities.team.invitations.send(accountId, { email: who.email.toUpperCase(), role }, by);
  assert.ok(typeof sent !== "string", String(sent));
  return tokenIn(sent.link);
}

async function joined(accountId: Uuid, role: Role, by: Person): Promise<Person> {
  const who = await person();
  const joining = await identities.team.accept(await invite(accountId, who, role, by), who);
  assert.ok(typeof joining !== "string", String(joining));
  return who;
}

const rolesIn = async (accountId: Uuid) => (await identities.team.members(accountId)).map(({ role }) => role);

test("an invitation link works once and only for the invited address, and the database stores only its hash", async () => {
  const { owner, accountId } = await owned();
  const [guest, other] = [await person(), await person()];
  const token = await invite(accountId, guest, "viewer", owner);
  const { rows } = await database.pool.query("select v::text as row from account_invitation v");
  for (const { row } of rows) assert.ok(!row.includes(token.split(".")[1]));
  assert.equal(await identities.team.accept(token, other), "invitation_not_yours");
  const last = token.endsWith("A") ? "E" : "A";
  for (const wrong of ["", "none", `${token.slice(0, -1)}${last}`, token.replace("inv_", "inv_0")]) {
    assert.equal(await identities.team.accept(wrong, guest), "not_found");
  }
  const both = await Promise.all([identities.team.accept(token, guest), identities.team.accept(token, guest)]);
  assert.deepEqual(both.map((one) => (typeof one === "string" ? one : one.role)).sort(), ["not_found", "viewer"]);
  assert.deepEqual(await identities.accountsOf(guest.identityId), [
    { id: accountId, kind: "builder", name: "Shared", suspended: false, role: "viewer" },
  ]);
});

test("an invitation link stops working after a week, when it is withdrawn or replaced, or when its sender leaves", async () => {
  const { owner, accountId } = await owned();
  const guest = await person();
  const expired = await invite(accountId, guest, "viewer", owner);
  await database.pool.query("update account_invitation set expires_at = now() where account_id = $1", [accountId]);
  assert.equal(await identities.team.accept(expired, guest), "not_found");
  assert.deepEqual(await identities.team.invitations.open(accountId), []);

  const replaced = await invite(accountId, guest, "viewer", owner);
  const withdrawn = await invite(accountId, guest, "member", owner);
  assert.equal(await identities.team.accept(replaced, guest), "not_found");
  const [open] = await identities.team.invitations.open(accountId);
  assert.equal(open?.role, "member");
  const { accountId: elsewhere, owner: stranger } = await owned();
  assert.equal(await identities.team.invitations.withdraw(elsewhere, open?.id as Uuid, stranger), "not_found");
  assert.equal(await identities.team.invitations.withdraw(accountId, open?.id as Uuid, stranger), "role_required");
  assert.equal(await identities.team.invitations.withdraw(accountId, open?.id as Uuid, owner), "withdrawn");
  assert.equal(await identities.team.accept(withdrawn, guest), "not_found");

  const second = await joined(accountId, "owner", owner);
  const orphaned = await invite(accountId, guest, "owner", second);
  assert.equal(await identities.team.remove(accountId, second.identityId, owner), "removed");
  assert.equal(await identities.team.accept(orphaned, guest), "not_found");
});

test("a person who was removed and invited again has only the new role", async () => {
  const { owner, accountId } = await owned();
  const [member, second] = [await joined(accountId, "member", owner), await joined(accountId, "owner", owner)];
  const offered = await invite(accountId, member, "owner", owner);
  for (const who of [member, second]) {
    assert.equal(await identities.team.remove(accountId, who.identityId, owner), "removed");
  }
  assert.equal(await identities.team.accept(offered, member), "not_found", "the offer to become an owner ended");
  for (const who of [member, second]) {
    const joining = await identities.team.accept(await invite(accountId, who, "viewer", owner), who);
    assert.equal(typeof joining === "string" ? joining : joining.role, "viewer");
  }
  assert.equal(await identities.team.accept(offered, member), "not_found");
  assert.deepEqual(await rolesIn(accountId), ["owner", "viewer", "viewer"]);
});

test("an account keeps one owner when all owners try to leave at the same time", async () => {
  const { owner, accountId } = await owned();
  const owners = [owner, await joined(accountId, "owner", owner), await joined(accountId, "owner", owner)];
  const left = await Promise.all(owners.map((who) => identities.team.remove(accountId, who.identityId, who)));
  assert.deepEqual(left.sort(), ["last_owner", "removed", "removed"]);
  assert.deepEqual(await rolesIn(accountId), ["owner"]);
});

test("a removed owner can no longer change the team", async () => {
  const { owner, accountId } = await owned();
  const second = await joined(accountId, "owner", owner);
  const member = await joined(accountId, "member", owner);
  const each = await Promise.all([
    identities.team.remove(accountId, second.identityId, owner),
    identities.team.remove(accountId, owner.identityId, second),
  ]);
  assert.deepEqual(each.sort(), ["removed", "role_required"], "of two who remove each other, one is quicker");
  const left = (await identities.team.members(accountId)).map(({ email }) => email);
  const [gone] = [owner, second].filter(({ email }) => !left.includes(email));
  const { invitations } = identities.team;
  assert.equal(
    await invitations.send(accountId, { email: "x@example.test", role: "owner" }, gone as Person),
    "role_required",
  );
  assert.equal(await identities.team.setRole(accountId, member.identityId, "viewer", gone as Person), "role_required");
  assert.equal(await identities.team.remove(accountId, member.identityId, gone as Person), "role_required");
});

test("a person becomes an owner only by accepting an invitation, which replaces any other role", async () => {
  const { owner, accountId } = await owned();
  const member = await joined(accountId, "member", owner);
  const sent = await identities.team.invitations.send(accountId, { email: member.email, role: "viewer" }, owner);
  assert.equal(sent, "already_in_team");
  const token = await invite(accountId, member, "owner", owner);
  await identities.team.accept(token, member);
  assert.deepEqual(await rolesIn(accountId), ["owner", "owner"]);
  const { rowCount } = await database.pool.query("select from account_member where account_id = $1", [accountId]);
  assert.equal(rowCount, 0);
  const changed = await identities.team.setRole(accountId, owner.identityId, "billing", member);
  assert.equal(typeof changed === "string" ? changed : changed.role, "billing");
  assert.deepEqual(await rolesIn(accountId), ["owner", "billing"]);
});

test("an owner cannot leave while the account owes money", async () => {
  const { owner, accountId } = await owned();
  const second = await joined(accountId, "owner", owner);
  const viewer = await joined(accountId, "viewer", owner);
  await database.pool.query("update ledger_account set balance = -1, overdrawn = true where id = $1", [accountId]);
  assert.equal(await identities.team.remove(accountId, owner.identityId, owner), "account_owes");
  assert.equal(await identities.team.setRole(accountId, owner.identityId, "viewer", second), "account_owes");
  assert.equal(await identities.team.remove(accountId, viewer.identityId, viewer), "removed");
});

test("a member of a suspended account can open an account, but its owner can neither open nor join one", async () => {
  const { owner, accountId } = await owned();
  const guest = await joined(accountId, "viewer", owner);
  await database.pool.query("update account set suspended_at = now() where id = $1", [accountId]);
  const opened = await identities.openAccount(guest.identityId, { kind: "builder", name: "Own" });
  assert.ok(typeof opened !== "string");
  assert.equal(await identities.openAccount(owner.identityId, { kind: "builder", name: "Own" }), "account_suspended");
  const { accountId: other, owner: inviter } = await owned();
  const token = await invite(other, owner, "member", inviter);
  assert.equal(await identities.team.accept(token, owner), "account_suspended");
});

test("with email configured, only the email contains the link, and accepting requires a confirmed address", async () => {
  const { owner, accountId } = await owned();
  const guest = await person(false);
  const sent = await mailing.team.invitations.send(accountId, { email: guest.email, role: "billing" }, owner);
  assert.ok(typeof sent !== "string");
  assert.equal(sent.link, null);
  await mailing.idle();
  const email = emails.at(-1);
  assert.equal(email?.to, guest.email);
  assert.match(
    email?.text ?? "",
    new RegExp(`^${owner.email} invited you to join an account on Tollgate as a billing contact`),
  );
  assert.match(email?.text ?? "", /https:\/\/gate\.test\/console\/join#token=inv_/);
  assert.doesNotMatch(email?.text ?? "", /Shared|A person/, "names are chosen by who invites");
  const token = tokenIn(email?.text ?? "");
  assert.equal(await mailing.team.accept(token, guest), "email_not_verified");
  const joining = await mailing.team.accept(token, { ...guest, emailVerified: true });
  assert.equal(typeof joining === "string" ? joining : joining.role, "billing");
});

test("the number of invitations to one address is limited across all senders", async () => {
  const guest = await person();
  for (let i = 0; i < 5; i++) {
    const { owner, accountId } = await owned();
    await invite(accountId, guest, "viewer", owner);
  }
  const { owner, accountId } = await owned();
  await assert.rejects(invite(accountId, guest, "viewer", owner), SignInRefusal);
});

test("members see the team's events and the person that each event is about", async () => {
  const { owner, accountId } = await owned("host");
  const member = await joined(accountId, "viewer", owner);
  await identities.team.setRole(accountId, member.identityId, "member", owner);
  await identities.team.remove(accountId, member.identityId, owner);
  const events = await identities.team.events(accountId);
  assert.deepEqual(
    events.map(({ by, action, email, role }) => [by, action, email, role]),
    [
      [owner.email, "removed", member.email, null],
      [owner.email, "role_changed", member.email, "member"],
      [member.email, "joined", member.email, "viewer"],
      [owner.email, "invited", member.email, "viewer"],
    ],
  );
});

test("old team events are deleted, except those that the team page shows", async () => {
  const [busy, quiet] = [await owned(), await owned()];
  const noteAt = async (accountId: Uuid, count: number, daysAgo: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await database.pool.query(
        `insert into account_event (id, account_id, action, email, at)
         values ($1, $2, 'left', 'gone@example.test', now() - make_interval(days => $3))`,
        [newId(), accountId, daysAgo],
      );
    }
  };
  /** Counts the remaining events by age in days. */
  const left = async (accountId: Uuid): Promise<Record<string, number>> => {
    const text = `select extract(day from now() - at)::text as days, count(*)::int as count from account_event
                   where account_id = $1 group by 1`;
    const { rows } = await database.pool.query<{ days: string; count: number }>(text, [accountId]);
    return Object.fromEntries(rows.map(({ days, count }) => [days, count]));
  };
  await noteAt(busy.accountId, 45, 401);
  await noteAt(busy.accountId, 10, 399);
  await noteAt(quiet.accountId, 3, 401);
  const shown = await identities.team.events(busy.accountId);
  await identities.sweep();
  assert.deepEqual(await left(busy.accountId), { 401: 40, 399: 10 });
  assert.deepEqual(await identities.team.events(busy.accountId), shown);
  assert.deepEqual(await left(quiet.accountId), { 401: 3 });
  await noteAt(busy.accountId, 60, 1);
  await identities.sweep();
  assert.deepEqual(await left(busy.accountId), { 399: 10, 1: 60 }, "what is younger stays, however much");
});
