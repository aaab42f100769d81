import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readDiscovered } from "./oidc-calls.ts";

const issuer = "https://id.example.test";
const asked = { url: `${issuer}/.well-known/openid-configuration`, issuer };
const document = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  userinfo_endpoint: `${issuer}/userinfo`,
};

describe("what a provider says of itself", () => {
  test("is taken where it is whole; not every provider has UserInfo", () => {
    assert.deepEqual(readDiscovered({ ...document, more: 1 }, asked), document);
    const { userinfo_endpoint: _, ...less } = document;
    assert.deepEqual(readDiscovered(less, asked), less);
  });

  for (const name of ["token_endpoint", "jwks_uri", "userinfo_endpoint"]) {
    test(`is refused where its ${name} can be read and changed on the way, and the issuer cannot`, () => {
      const message = `${asked.url} returned a ${name} that does not use https`;
      const insecure = { ...document, [name]: "http://id.example.test/x" };
      assert.throws(() => readDiscovered(insecure, asked), { outcome: "provider_unavailable", message });
      const local = "http://127.0.0.1:5556";
      readDiscovered({ ...insecure, issuer: local }, { url: local, issuer: local });
    });
  }

  test("is refused where it is another's or incomplete, with what is wrong", () => {
    const reading = (more: object) => () => readDiscovered({ ...document, ...more }, asked);
    assert.throws(reading({ issuer: "https://evil.test" }), /returned the issuer https:\/\/evil\.test instead of/);
    assert.throws(reading({ jwks_uri: undefined }), /returned an invalid response: jwks_uri: /);
    assert.throws(() => readDiscovered(undefined, asked), /returned an invalid response: /);
  });
});
