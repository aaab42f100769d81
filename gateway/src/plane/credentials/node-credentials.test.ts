import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nodePermissions } from "@tollgate/protocol/nats-subjects.ts";
import { InvariantError } from "../../base/invariant.ts";
import { systemRandom } from "../../base/random.ts";
import { createKey, keyFromSeed, parsePublicKey } from "./nkeys.ts";
import { checkTtl, chooseIssueSecond, deriveNodeKey, issueNodeCredentials } from "./node-credentials.ts";
import { verifyJwt } from "./user-jwt.ts";

const account = createKey("account", systemRandom());
const NOW_MS = 1_900_000_000_400;

describe("node credentials", () => {
  test("contain the permissions for the node's own subjects, the node's public key and the expiry time", () => {
    const grant = { nodeId: "node_a", url: "nats://x", issuedAtS: 1_900_000_000, nowMs: NOW_MS, ttlMs: 60_000 };
    const credentials = issueNodeCredentials(account, grant);
    const verifying = parsePublicKey("account", account.publicKey);
    assert.ok(verifying);
    const verdict = verifyJwt([verifying], credentials.jwt, NOW_MS);
    assert.ok(verdict.ok);
    assert.deepEqual(verdict.claims.permissions, nodePermissions("node_a"));
    assert.equal(verdict.claims.user.publicKey, keyFromSeed(credentials.seed).publicKey);
    assert.equal(credentials.expiresAt, 1_900_000_060_000);
    assert.equal(verdict.claims.expiresAtS * 1000, credentials.expiresAt);
  });

  test("use one key per node and account, whichever gateway issues them", () => {
    const again = keyFromSeed(account.seed);
    assert.equal(deriveNodeKey(account, "node_a").seed, deriveNodeKey(again, "node_a").seed);
    assert.notEqual(deriveNodeKey(account, "node_a").seed, deriveNodeKey(account, "node_b").seed);
    const other = createKey("account", systemRandom());
    assert.notEqual(deriveNodeKey(account, "node_a").seed, deriveNodeKey(other, "node_a").seed);
  });

  test("are never issued for a node ID that could match other nodes' subjects", () => {
    for (const nodeId of ["", "a.b", "*", ">", "a b", "a\r\nPUB", "ä", "x".repeat(65)]) {
      assert.throws(() => deriveNodeKey(account, nodeId), InvariantError, nodeId);
    }
  });

  test("carry the current second as issue date, or the second after the latest revocation if that is later", () => {
    assert.equal(chooseIssueSecond(NOW_MS, undefined), 1_900_000_000);
    assert.equal(chooseIssueSecond(NOW_MS, 1_800_000_000), 1_900_000_000);
    assert.equal(chooseIssueSecond(NOW_MS, 1_900_000_000), 1_900_000_001);
    assert.equal(chooseIssueSecond(NOW_MS, 1_900_000_007), 1_900_000_008);
  });

  test("require a lifetime between one second and one day", () => {
    assert.equal(checkTtl(1_000), 1_000);
    for (const ttlMs of [0, 999, 24 * 3_600_000 + 1]) assert.throws(() => checkTtl(ttlMs), InvariantError);
  });
});
