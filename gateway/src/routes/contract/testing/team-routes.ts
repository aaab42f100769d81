/** For tests: calls all operations on an account's members and invitations, and causes their errors. */
import assert from "node:assert/strict";
import { openIdentities } from "../../../accounts/identities.ts";
import { cheapPasswordHash } from "../../../accounts/testing/cheap-password-hash.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { dollars } from "../../../base/money.ts";
import { Browser } from "../../testing/browser.ts";
import { type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

/** The token in an invitation link that the API returned. */
const tokenOf = (link: unknown): string => decodeURIComponent(/#token=(\S+)$/.exec(String(link))?.[1] ?? "");

export async function callTeamRoutes(fixture: ContractFixture, { ask }: Coverage): Promise<void> {
  const { platform } = fixture;
  const owner = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = owner.accountIds as [Uuid];
  const invite = async (status: number, { email }: { email: string }, role: string) =>
    (await ask(owner.browser, status, "inviteToTeam", { body: { email, role } })).body;
  const accept = (who: Person, status: number, link: unknown) =>
    ask(who.browser, status, "acceptInvitation", { body: { token: tokenOf(link) } });
  const idOf = ({ identityId }: Person) => publicId("usr", identityId);

  const viewer = await signInTestPerson(platform);
  const { link, id } = await invite(201, viewer, "viewer");
  await ask(owner.browser, 200, "getTeam");
  for (const status of [200, 404]) await ask(owner.browser, status, "withdrawInvitation", { id });
  await accept(viewer, 404, link);
  const again = await invite(201, viewer, "viewer");
  for (const who of [fixture.people.host, owner]) {
    const body = { token: tokenOf(again.link) };
    await ask(who.browser, 403, "readInvitation", { body });
    await ask(who.browser, 403, "acceptInvitation", { body });
  }
  await unconfirmed(fixture, { ask } as Coverage, viewer, tokenOf(again.link));
  await suspended(platform, accountId, async () => {
    await ask(viewer.browser, 403, "readInvitation", { body: { token: tokenOf(again.link) } });
    await accept(viewer, 403, again.link);
  });
  await ask(viewer.browser, 200, "readInvitation", { body: { token: tokenOf(again.link) } });
  assert.deepEqual((await accept(viewer, 200, again.link)).body.may, ["read"]);
  await ask(viewer.browser, 404, "readInvitation", { body: { token: tokenOf(again.link) } });
  await ask(viewer.browser, 403, "renameAccount", { id: publicId("acc", accountId), body: { name: "Mine" } });
  await invite(409, viewer, "member");
  await ask(owner.browser, 200, "changeRole", { id: idOf(viewer), body: { role: "member" } });
  await ask(viewer.browser, 403, "removeFromTeam", { id: idOf(owner) });

  for (const name of ["changeRole", "removeFromTeam"]) {
    await ask(owner.browser, 409, name, { id: idOf(owner), body: { role: "viewer" } });
  }
  const second = await signInTestPerson(platform);
  await accept(second, 200, (await invite(201, second, "owner")).link);
  const debt = { id: platform.newId(), kind: "dispute", accountId, amount: dollars(6), reason: "a test" } as const;
  assert.equal(await platform.ledger.transfer(debt), "moved");
  for (const name of ["changeRole", "removeFromTeam"]) {
    await ask(second.browser, 409, name, { id: idOf(owner), body: { role: "viewer" } });
  }
  const { data: events = [] } = {
    data: (await ask(owner.browser, 200, "getTeam")).body.events as { action: string }[],
  };
  assert.deepEqual(
    events.map(({ action }) => action),
    ["joined", "invited", "role_changed", "joined", "invited", "withdrawn", "invited"],
  );
  await ask(viewer.browser, 200, "removeFromTeam", { id: idOf(viewer) });

  await tooMuch(fixture, { ask } as Coverage);
}

/** Invitations at a console that requires confirmed email addresses. */
async function unconfirmed(
  { platform }: ContractFixture,
  { ask }: Coverage,
  who: Person,
  token: string,
): Promise<void> {
  const { pool, newId, secret, parts } = platform;
  const shared = {
    pool,
    newId,
    secret,
    log: parts.log,
    publicUrl: "http://console.test",
    passwordHash: cheapPasswordHash,
  };
  const identities = await openIdentities({ ...shared, verifyEmails: true });
  const browser = new Browser({ app: platform.serve({ identities, publicUrl: shared.publicUrl }) });
  await browser.enter(platform, who.identityId);
  const confirm = (verified: boolean) =>
    pool.query("update identity set email_verified = $2 where id = $1", [who.identityId, verified]);
  await confirm(false);
  for (const id of ["readInvitation", "acceptInvitation"]) await ask(browser, 403, id, { body: { token } });
  await confirm(true);
}

async function suspended(
  { pool }: ContractFixture["platform"],
  accountId: Uuid,
  run: () => Promise<void>,
): Promise<void> {
  await pool.query("update account set suspended_at = now() where id = $1", [accountId]);
  await run();
  await pool.query("update account set suspended_at = null where id = $1", [accountId]);
}

/** Causes the errors for too many members, invitations and attempts. */
async function tooMuch({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const owner = await signInTestPerson(platform, [{ kind: "host" }]);
  const [accountId] = owner.accountIds as [Uuid];
  const guest = await signInTestPerson(platform);
  const invite = (status: number, email: string) =>
    ask(owner.browser, status, "inviteToTeam", { body: { email, role: "viewer" } });
  const token = tokenOf((await invite(201, guest.email)).body.link);
  await platform.pool.query(
    `with made as (insert into identity (id, email, name)
       select gen_random_uuid(), 'one-of-many-' || n || '@example.test', 'One of many' from generate_series(1, 49) n
       returning id)
     insert into account_member (account_id, identity_id, role) select $1, id, 'viewer' from made`,
    [accountId],
  );
  await ask(guest.browser, 409, "acceptInvitation", { body: { token } });
  await invite(409, "one-too-many@example.test");
  for (let i = 0; i < 18; i++) await invite(409, `one-too-many-${i}@example.test`);
  await invite(429, "once-more@example.test");
  for (let i = 0; i < 19; i++) await ask(guest.browser, 404, "readInvitation", { body: { token: "none" } });
  for (const id of ["readInvitation", "acceptInvitation"]) await ask(guest.browser, 429, id, { body: { token } });
  const { members } = (await ask(owner.browser, 200, "getTeam")).body;
  const { id } = (members as { id: string; role: string }[]).find(({ role }) => role === "viewer") ?? {};
  const change = (status: number) => ask(owner.browser, status, "changeRole", { id, body: { role: "member" } });
  for (let i = 0; i < 60; i++) await change(200);
  await change(429);
}
