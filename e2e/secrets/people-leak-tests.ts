/** People use every way to sign in, invite each other and create keys. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { computeAuthenticatorCode } from "../../gateway/src/accounts/testing/authenticator-codes.ts";
import type { ConsoleClient } from "../console-client.ts";
import { keepResponse, makeLeakMarker, registerSecret, type SecretsPlatform } from "./leak-test-platform.ts";

/** The people of the platform and what they own, once their tests have run. */
export interface People {
  operator: ConsoleClient;
  person: ConsoleClient;
  key: string;
  hostToken: string;
  account: string;
}

export function testPeople(open: () => SecretsPlatform, people: People): void {
  let rig: SecretsPlatform;
  before(() => {
    rig = open();
  });
  const email = "holder@example.test";
  const password = registerSecret("password");

  test("a person signs up, confirms the address, and resets the password", async () => {
    people.operator = await rig.clientFor("operator").signIn(rig.platform.ready.operator);
    rig.cookiesOf(people.operator, "of the operator");
    people.person = rig.clientFor("person");
    const [first, wrong] = [registerSecret("password"), registerSecret("wrong password")];
    await people.person.send("POST", "auth/sign-up/email", { email, password: first, name: "A person" });
    const confirmation = keepResponse("the confirmation's token", await rig.mailedToken());
    await people.person.ask("POST", "auth/sign-in/email", { email, password: first });
    await people.person.ask("POST", "auth/verify-email", { token: registerSecret("wrong token") });
    await people.person.send("POST", "auth/verify-email", { token: confirmation });
    await people.person.ask("POST", "auth/sign-in/email", { email, password: wrong });
    await people.person.signIn({ email, password: first });
    rig.cookiesOf(people.person, "before the reset");
    await people.person.send("POST", "auth/request-password-reset", { email });
    const token = keepResponse("the reset's token", await rig.mailedToken());
    // Searches the table while the link is still valid: anyone who can read the database could use a token stored
    // there.
    const stored = await rig.platform.query<{ row: string }>("select v::text as row from identity_verification v");
    assert.ok(stored.length > 0 && stored.every(({ row }) => !row.includes(token)));
    await people.person.ask("POST", "auth/reset-password", { token: registerSecret("wrong token"), password });
    await people.person.send("POST", "auth/reset-password", { token, password });
    await people.person.ask("POST", "auth/reset-password", { token, password });
    await rig.forgetAttempts();
    await people.person.signIn({ email, password });
    rig.cookiesOf(people.person, "after the reset");
  });

  test("a script signs in with a code that a person confirms", async () => {
    const begun = await rig.clientFor("script").ask("POST", "auth/scripts", { name: "a script", access: "write" });
    const { token, code } = begun.body as { token: string; code: string };
    keepResponse("the script's token", token, begun);
    await people.person.send("POST", `script-logins/${code}`, { confirm: true });
    const asScript = { authorization: `Bearer ${token}` };
    assert.equal(await rig.call("/console/api/me", { headers: asScript }), 200);
    const headers = { ...asScript, "content-type": "application/json" };
    const state = { method: "POST", headers, body: JSON.stringify({ token }) };
    assert.equal(await rig.call("/console/api/auth/scripts/state", state), 200);
    assert.equal(await rig.call("/console/api/auth/change-password", { method: "POST", headers, body: "{}" }), 403);
  });

  test("a person sets a second factor and signs in with a backup code", async () => {
    const begun = await people.person.ask("POST", "auth/two-factor/enable", { password });
    const { secret, backup_codes: codes } = begun.body as { secret: string; backup_codes: string[] };
    keepResponse("the second factor's secret", secret, begun);
    for (const [i, code] of codes.entries()) keepResponse(`backup code ${i}`, code, begun);
    await people.person.send("POST", "auth/two-factor/confirm", { code: computeAuthenticatorCode(secret) });
    await people.person.ask("POST", "auth/two-factor/disable", { password: registerSecret("wrong password") });
    rig.cookiesOf(people.person, "with the second factor");
    const elsewhere = await rig.clientFor("person elsewhere").signIn({ email, password });
    rig.cookiesOf(elsewhere, "of the challenge");
    await elsewhere.ask("POST", "auth/sign-in/code", { code: registerSecret("wrong code") });
    await elsewhere.send("POST", "auth/sign-in/code", { code: codes[0] });
    rig.cookiesOf(elsewhere, "after the backup code");
    for (const path of ["me", "sessions", "auth/get-session"]) await elsewhere.get(path);
    await rig.forgetAttempts();
  });

  test("a guest signs in with OpenID and invites another person", async () => {
    const guest = rig.clientFor("guest");
    const claimed = { sub: "guest", email: "guest@example.test", email_verified: true, name: "Guest" };
    const signIn = async (mischief: object): Promise<string | null> => {
      const { url } = await guest.send<{ url: string }>("POST", "auth/sign-in/openid", {
        provider: rig.issuer.provider.id,
      });
      rig.cookiesOf(guest, "on the way to the provider");
      const back = await rig.issuer.signIn(url, claimed, mischief);
      keepResponse("the provider's code", String(back.searchParams.get("code")));
      const response = await fetch(`${rig.stage.baseUrl}${back.pathname}${back.search}`, {
        headers: { cookie: guest.cookie },
        redirect: "manual",
      });
      guest.keep(response);
      for (const [name, value] of Object.entries(rig.issuer.lastTokens())) {
        if (/^(id|access|refresh)_token$/.test(name)) keepResponse(`the provider's ${name}`, String(value));
      }
      rig.answers.push({
        what: "back from the provider",
        answer: { status: 0, text: await response.text(), body: {} },
      });
      return response.headers.get("location");
    };
    assert.notEqual(await signIn({ claims: { nonce: "wrong" } }), "/console/");
    assert.equal(await signIn({}), "/console/");
    rig.cookiesOf(guest, "by OpenID");
    await guest.send("POST", "accounts", { kind: "builder", name: "Shared" });
    const invited = await rig.clientFor("invited").signIn(rig.platform.ready.builder);
    await guest.send("POST", "team/invitations", { email: rig.platform.ready.builder.email, role: "viewer" });
    await invited.send("POST", "team/accept", { token: keepResponse("the invitation", await rig.mailedToken()) });
    await guest.get("team");
  });

  test("a person creates, renames and revokes keys and host tokens, in the console and with commands", async () => {
    people.account = (
      await people.person.send<{ id: string }>("POST", "accounts", { kind: "builder", name: "Work" })
    ).id;
    await people.person.send("POST", "accounts", { kind: "host", name: "Farm" });
    await people.operator.send("POST", `operator/accounts/${people.account}/grant`, {
      amount_micro: "5000000",
      reason: "to begin",
    });
    for (const [path, kind] of [
      ["keys", "a key"],
      ["host-tokens", "a host token"],
    ] as const) {
      const answer = await people.person.ask("POST", path, {
        name: path === "keys" ? "to be renamed" : makeLeakMarker("a token's name"),
      });
      const secret = keepResponse(kind, String(answer.body.secret), answer);
      if (path === "keys") people.key = secret;
      else people.hostToken = secret;
      const doomed = await people.person.ask("POST", path, { name: "to be revoked" });
      keepResponse(`${kind}, revoked`, String(doomed.body.secret), doomed);
      await people.person.send("DELETE", `${path}/${doomed.body.id}`);
      await people.person.get(path);
    }
    const { data } = await people.person.get<{ data: { id: string; name: string }[] }>("keys");
    await people.person.send("PATCH", `keys/${data.find(({ name }) => name === "to be renamed")?.id}`, {
      name: makeLeakMarker("a key's name"),
    });
    await people.operator.get(`operator/accounts/${people.account}/keys`);
    const shell = runTollgate(["admin", "key", "create", people.account, "shell", "--json", "--data", rig.dataDir], {
      KEY_PEPPER: TEST_KEY_PEPPER,
    });
    assert.equal(await shell.ended, 0, shell.output());
    keepResponse("the shell's key", (JSON.parse(shell.output()) as { secret: string }).secret);
  });
}
