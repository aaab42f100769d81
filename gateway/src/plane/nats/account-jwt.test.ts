import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemRandom } from "../../base/random.ts";
import { signJwt } from "../credentials/jwt.ts";
import { createKey } from "../credentials/nkeys.ts";
import { CREDENTIAL_TTL_MS_MAX } from "../credentials/user-jwt.ts";
import {
  type AccountClaims,
  addRevokedKeys,
  includesRevocations,
  readAccountJwt,
  readDeploymentTag,
  readRevokedUntilS,
  withDeployment,
} from "./account-jwt.ts";

const NOW_S = 1_900_000_000;
const operator = createKey("operator", systemRandom());
const account = createKey("account", systemRandom());
const claims: AccountClaims = {
  iat: NOW_S - 100,
  name: "tollgate",
  sub: account.publicKey,
  exp: NOW_S + 1_000,
  nats: { type: "account", version: 2, limits: { conn: 7 }, imports: [{ name: "lookup" }] },
};

describe("account JWT", () => {
  test("keeps unknown fields when it is parsed and signed again", () => {
    const read = readAccountJwt(signJwt(operator, claims));
    assert.ok(read);
    const { iss, jti, ...rest } = read;
    assert.equal(iss, operator.publicKey);
    assert.match(String(jti), /^[A-Z2-7]{52}$/);
    assert.deepEqual(rest, claims);
  });

  test("is refused if it is malformed or not an account's", () => {
    const user = { ...claims, nats: { type: "user" } };
    for (const text of ["", "x", "a.b.c", signJwt(account, user)]) assert.equal(readAccountJwt(text), undefined, text);
  });

  test("combines revocations: for each key the later one counts", () => {
    const once = addRevokedKeys(claims, { a: NOW_S, b: NOW_S }, NOW_S);
    const twice = addRevokedKeys(once, { a: NOW_S - 5, c: NOW_S + 5 }, NOW_S);
    assert.deepEqual(twice.nats.revocations, { a: NOW_S, b: NOW_S, c: NOW_S + 5 });
    assert.deepEqual(
      [twice.exp, twice.nats.limits, twice.nats.imports],
      [claims.exp, { conn: 7 }, [{ name: "lookup" }]],
    );
    assert.equal(readRevokedUntilS(twice, "a"), NOW_S);
    assert.equal(readRevokedUntilS(twice, "d"), undefined);
    assert.equal(includesRevocations(twice, { a: NOW_S, c: NOW_S }), true);
    assert.equal(includesRevocations(twice, { a: NOW_S + 1 }), false);
    assert.equal(includesRevocations(twice, { d: 0 }), false);
  });

  test("is dated later than its previous version, even within one second", () => {
    const first = addRevokedKeys(claims, { a: NOW_S }, NOW_S);
    const second = addRevokedKeys(first, { b: NOW_S }, NOW_S);
    assert.deepEqual([first.iat, second.iat], [NOW_S, NOW_S + 1]);
  });

  test("keeps its other tags when the tag that names the deployment changes and when a key is revoked", () => {
    assert.equal(readDeploymentTag(claims), undefined);
    const tagged = { ...claims, nats: { ...claims.nats, tags: ["mine", "deployment:one"] } };
    assert.equal(readDeploymentTag(tagged), "one");
    const taken = addRevokedKeys(withDeployment(tagged, "two"), { a: NOW_S }, NOW_S);
    assert.deepEqual(taken.nats.tags, ["mine", "deployment:two"]);
    assert.deepEqual(readAccountJwt(signJwt(operator, taken))?.nats.tags, ["mine", "deployment:two"]);
  });

  test("drops revocations that are older than any valid credential", () => {
    const dayS = CREDENTIAL_TTL_MS_MAX / 1000;
    const old = addRevokedKeys(claims, { a: NOW_S }, NOW_S);
    assert.deepEqual(addRevokedKeys(old, {}, NOW_S + dayS).nats.revocations, { a: NOW_S });
    assert.deepEqual(addRevokedKeys(old, {}, NOW_S + dayS + 1).nats.revocations, {});
  });
});
