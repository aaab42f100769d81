import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CREDENTIAL_TTL_MS_MAX } from "../credentials/user-jwt.ts";
import { createMemoryRevocations } from "./revocations.ts";

const NOW_MS = 1_900_000_000_400;

describe("revocations", () => {
  test("apply to credentials issued earlier in the same second, and not to later ones", () => {
    const revocations = createMemoryRevocations();
    const before = revocations.issueSecond("a", NOW_MS);
    const other = revocations.issueSecond("b", NOW_MS);
    revocations.revoke("a", NOW_MS + 1);
    const after = revocations.issueSecond("a", NOW_MS + 2);
    assert.equal(revocations.refuses("a", before), true);
    assert.equal(revocations.refuses("a", after), false);
    assert.equal(revocations.refuses("b", other), false);
  });

  test("apply to credentials issued after the first revocation if the node is revoked again", () => {
    const revocations = createMemoryRevocations();
    for (let round = 0; round < 5; round++) {
      const issued = revocations.issueSecond("a", NOW_MS);
      assert.equal(revocations.refuses("a", issued), false);
      revocations.revoke("a", NOW_MS);
      assert.equal(revocations.refuses("a", issued), true);
    }
  });

  test("apply to old credentials even if the clock is set back", () => {
    const revocations = createMemoryRevocations();
    const issued = revocations.issueSecond("a", NOW_MS);
    revocations.revoke("a", NOW_MS - 60_000);
    assert.equal(revocations.refuses("a", issued), true);
    assert.equal(revocations.refuses("a", revocations.issueSecond("a", NOW_MS - 60_000)), false);
  });

  test("are kept for the longest lifetime of a credential", () => {
    const revocations = createMemoryRevocations();
    const issued = revocations.issueSecond("a", NOW_MS);
    revocations.revoke("a", NOW_MS);
    revocations.revoke("b", NOW_MS + CREDENTIAL_TTL_MS_MAX);
    assert.equal(revocations.refuses("a", issued), true);
    revocations.revoke("b", NOW_MS + CREDENTIAL_TTL_MS_MAX + 61_000);
    assert.equal(revocations.refuses("a", issued), false);
  });
});
