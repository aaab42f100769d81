import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nkeys } from "@nats-io/transport-node";
import { nodePermissions } from "@tollgate/protocol/nats-subjects.ts";
import { InvariantError } from "../../base/invariant.ts";
import { systemRandom } from "../../base/random.ts";
import { createKey, parsePublicKey, type SigningKey, type VerifyingKey } from "./nkeys.ts";
import { CREDENTIAL_TTL_MS_MAX, mintUserJwt, type UserGrant, verifyJwt } from "./user-jwt.ts";

const random = systemRandom();
const account = createKey("account", random);
const user = createKey("user", random);
const NOW_S = 1_900_000_000;
const grant: UserGrant = {
  name: "node_a",
  userKey: user.publicKey,
  issuedAtS: NOW_S,
  expiresAtS: NOW_S + 3600,
  subscriptionsMax: 16,
  payloadBytesMax: 1024,
  permissions: nodePermissions("node_a"),
};

function verifying(key: SigningKey): VerifyingKey {
  const parsed = parsePublicKey("account", key.publicKey);
  assert.ok(parsed);
  return parsed;
}

function verdictOf(jwt: string, nowMs = NOW_S * 1000): string {
  const verdict = verifyJwt([verifying(account)], jwt, nowMs);
  return verdict.ok ? "ok" : verdict.refusal;
}

/** Signs changed claims with the account's key, so that the signature is valid. */
function signClaims(change: (claims: Record<string, unknown>) => void): string {
  const [header = "", body = ""] = mintUserJwt(account, grant).split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString());
  change(claims);
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${signed}.${account.sign(Buffer.from(signed)).toString("base64url")}`;
}

describe("user JWT", () => {
  test("contains the node's subjects and the granted limits", () => {
    const verdict = verifyJwt([verifying(account)], mintUserJwt(account, grant), NOW_S * 1000);
    assert.ok(verdict.ok);
    const { user: key, ...claims } = verdict.claims;
    assert.equal(key.publicKey, user.publicKey);
    assert.deepEqual(claims, {
      nodeId: "node_a",
      issuedAtS: NOW_S,
      expiresAtS: NOW_S + 3600,
      permissions: { publish: ["tg.g.*.node_a", "tg.s.node_a"], subscribe: ["tg.n.node_a", "tg.q"] },
      subscriptionsMax: 16,
      payloadBytesMax: 1024,
    });
  });

  test("permits only plain client connections", () => {
    const [, body = ""] = mintUserJwt(account, grant).split(".");
    const { nats } = JSON.parse(Buffer.from(body, "base64url").toString());
    assert.deepEqual(nats.allowed_connection_types, ["STANDARD"]);
  });

  test("has the form of a NATS user JWT", () => {
    const [header = "", body = "", signature = ""] = mintUserJwt(account, grant).split(".");
    assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), { typ: "JWT", alg: "ed25519-nkey" });
    const claims = JSON.parse(Buffer.from(body, "base64url").toString());
    assert.match(claims.jti, /^[A-Z2-7]{52}$/);
    assert.deepEqual([claims.iss, claims.sub, claims.name], [account.publicKey, user.publicKey, "node_a"]);
    assert.deepEqual([claims.nats.type, claims.nats.version, claims.nats.data], ["user", 2, -1]);
    const signed = Buffer.from(`${header}.${body}`);
    assert.ok(nkeys.fromPublic(account.publicKey).verify(signed, Buffer.from(signature, "base64url")));
  });

  test("has no limit if a limit's value is -1", () => {
    const verdict = verifyJwt(
      [verifying(account)],
      mintUserJwt(account, { ...grant, subscriptionsMax: -1, payloadBytesMax: -1 }),
      NOW_S * 1000,
    );
    assert.ok(verdict.ok);
    assert.equal(verdict.claims.subscriptionsMax, Number.POSITIVE_INFINITY);
    assert.equal(verdict.claims.payloadBytesMax, Number.POSITIVE_INFINITY);
  });

  test("is refused if it is malformed, changed or of the wrong kind", () => {
    const good = mintUserJwt(account, grant);
    const [header = "", body = "", signature = ""] = good.split(".");
    const other = createKey("account", random);
    const otherBody = mintUserJwt(account, { ...grant, name: "node_b" }).split(".")[1];
    const none = Buffer.from('{"typ":"JWT","alg":"none"}').toString("base64url");
    const dayS = CREDENTIAL_TTL_MS_MAX / 1000;
    const table: [string, string, string][] = [
      ["good", good, "ok"],
      ["empty", "", "malformed"],
      ["not a JWT", "a.b.c", "malformed"],
      ["too long", `${good}${"A".repeat(4096)}`, "malformed"],
      ["two parts", `${header}.${body}`, "malformed"],
      ["four parts", `${good}.x`, "malformed"],
      ["another algorithm", `${none}.${body}.${signature}`, "malformed"],
      ["another account", mintUserJwt(other, grant), "foreign_account"],
      ["another node's claims under this signature", `${header}.${otherBody}.${signature}`, "bad_signature"],
      ["no signature", `${header}.${body}.`, "bad_signature"],
      ["issuer claimed, signed by the user", forge(good), "bad_signature"],
      ["no expiry", signClaims((c) => delete c.exp), "bad_claims"],
      ["no permissions", signClaims((c) => delete c.nats), "bad_claims"],
      ["a node id with a dot", signClaims((c) => Object.assign(c, { name: "a.b" })), "bad_claims"],
      ["an account as user", signClaims((c) => Object.assign(c, { sub: account.publicKey })), "bad_claims"],
      ["longer than a day", mintUserJwt(account, { ...grant, expiresAtS: NOW_S + dayS + 1 }), "lives_too_long"],
      ["a day", mintUserJwt(account, { ...grant, expiresAtS: NOW_S + dayS }), "ok"],
      ["from tomorrow", mintUserJwt(account, { ...grant, notBeforeS: NOW_S + 1 }), "not_yet_valid"],
      ["from now", mintUserJwt(account, { ...grant, notBeforeS: NOW_S }), "ok"],
    ];
    for (const [name, jwt, outcome] of table) assert.equal(verdictOf(jwt), outcome, name);
    assert.equal(verdictOf(good, (NOW_S + 3600) * 1000 - 1), "ok");
    assert.equal(verdictOf(good, (NOW_S + 3600) * 1000), "expired");
  });

  test("of a gateway is refused for a node, because it has no expiry and no node name", () => {
    const gateway = { ...grant, name: "gateway.1", expiresAtS: undefined };
    assert.equal(verdictOf(mintUserJwt(account, gateway)), "bad_claims");
  });

  test("must be signed with an account key", () => {
    assert.throws(() => mintUserJwt(user, grant), InvariantError);
  });
});

function forge(jwt: string): string {
  const signed = jwt.slice(0, jwt.lastIndexOf("."));
  return `${signed}.${user.sign(Buffer.from(signed)).toString("base64url")}`;
}
