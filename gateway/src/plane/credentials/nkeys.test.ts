import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nkeys } from "@nats-io/transport-node";
import fc from "fast-check";
import { systemRandom } from "../../base/random.ts";
import { base32Decode, base32Encode, createKey, InvalidKeyError, keyFromSeed, parsePublicKey } from "./nkeys.ts";

const random = systemRandom();
const data = Buffer.from("nonce");

describe("NATS keys (nkeys)", () => {
  test("start with the letter of their role", () => {
    assert.match(createKey("user", random).publicKey, /^U[A-Z2-7]{55}$/);
    assert.match(createKey("account", random).publicKey, /^A[A-Z2-7]{55}$/);
    assert.match(createKey("operator", random).publicKey, /^O[A-Z2-7]{55}$/);
    assert.match(createKey("user", random).seed, /^SU[A-Z2-7]{56}$/);
    assert.match(createKey("account", random).seed, /^SA[A-Z2-7]{56}$/);
    assert.match(createKey("operator", random).seed, /^SO[A-Z2-7]{56}$/);
  });

  test("are compatible with seeds of the NATS library in both directions", () => {
    for (const role of ["user", "account", "operator"] as const) {
      const ours = createKey(role, random);
      const theirs = nkeys.fromSeed(Buffer.from(ours.seed));
      assert.equal(theirs.getPublicKey(), ours.publicKey);
      assert.ok(nkeys.fromPublic(ours.publicKey).verify(data, ours.sign(data)));
      assert.ok(parsePublicKey(role, ours.publicKey)?.verify(data, theirs.sign(data)));
    }
    const theirs = nkeys.createAccount();
    const ours = keyFromSeed(Buffer.from(theirs.getSeed()).toString());
    assert.equal(ours.role, "account");
    assert.equal(ours.publicKey, theirs.getPublicKey());
  });

  test("reject a signature by another key or of other data", () => {
    const key = createKey("user", random);
    const verifying = parsePublicKey("user", key.publicKey);
    assert.ok(verifying);
    assert.equal(verifying.verify(data, createKey("user", random).sign(data)), false);
    assert.equal(verifying.verify(Buffer.from("other"), key.sign(data)), false);
    assert.equal(verifying.verify(data, Buffer.alloc(0)), false);
    assert.equal(verifying.verify(data, Buffer.alloc(1000)), false);
  });

  test("reject a mistyped key, and a key of another role", () => {
    const { publicKey, seed } = createKey("user", random);
    const mistyped = publicKey.slice(0, 10) + (publicKey[10] === "A" ? "B" : "A") + publicKey.slice(11);
    for (const text of [mistyped, "", "U", publicKey.toLowerCase(), publicKey.slice(1), `${publicKey}A`, seed]) {
      assert.equal(parsePublicKey("user", text), undefined, text);
    }
    assert.equal(parsePublicKey("account", publicKey), undefined);
    for (const text of ["", "SU", publicKey, seed.slice(0, -1), seed.toLowerCase()]) {
      assert.throws(() => keyFromSeed(text), InvalidKeyError);
    }
  });

  test("have exactly one valid Base32 spelling", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        assert.deepEqual(base32Decode(base32Encode(bytes)), Buffer.from(bytes));
      }),
    );
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z2-7]{0,30}$/), (text) => {
        const bytes = base32Decode(text);
        if (bytes !== undefined) assert.equal(base32Encode(bytes), text);
      }),
    );
  });
});
