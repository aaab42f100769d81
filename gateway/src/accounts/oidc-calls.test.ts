import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseDiscoveryDocument } from "./oidc-calls.ts";

const issuer = "https://id.example.test";
const asked = { url: `${issuer}/.well-known/openid-configuration`, issuer };
const document = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  userinfo_endpoint: `${issuer}/userinfo`,
};

describe("a provider's OpenID configuration", () => {
  test("is accepted if complete, with or without a UserInfo endpoint", () => {
    assert.deepEqual(parseDiscoveryDocument({ ...document, more: 1 }, asked), document);
    const { userinfo_endpoint: _, ...less } = document;
    assert.deepEqual(parseDiscoveryDocument(less, asked), less);
  });

  for (const name of ["token_endpoint", "jwks_uri", "userinfo_endpoint"]) {
    test(`is refused when its ${name} does not use TLS although the issuer does`, () => {
      const message = `${asked.url} returned a ${name} that does not use https`;
      const insecure = { ...document, [name]: "http://id.example.test/x" };
      assert.throws(() => parseDiscoveryDocument(insecure, asked), { outcome: "provider_unavailable", message });
      const local = "http://127.0.0.1:5556";
      parseDiscoveryDocument({ ...insecure, issuer: local }, { url: local, issuer: local });
    });
  }

  test("is refused with the reason if a field is missing or if it is for another issuer", () => {
    const reading = (more: object) => () => parseDiscoveryDocument({ ...document, ...more }, asked);
    assert.throws(reading({ issuer: "https://evil.test" }), /returned the issuer https:\/\/evil\.test instead of/);
    assert.throws(reading({ jwks_uri: undefined }), /returned an invalid response: jwks_uri: /);
    assert.throws(() => parseDiscoveryDocument(undefined, asked), /returned an invalid response: /);
  });
});
