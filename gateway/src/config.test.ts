import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, parseConfig } from "./config.ts";

test("without any variable the defaults hold", () => {
  const config = parseConfig({});
  assert.equal(config.port, 8080);
  assert.equal(config.internalPort, 9090);
  assert.equal(config.databaseUrl, undefined);
  assert.equal(config.dispatchDeadlineMs, 10_000);
  assert.equal(parseConfig({ PORT: "" }).port, 8080, "an empty variable is not set");
});

test("every mistake is reported at once, each with its variable", () => {
  const env = {
    PORT: "eighty",
    INTERNAL_PORT: "70000",
    DATABASE_URL: "mysql://x",
    LOG_LEVEL: "loud",
    KEY_PEPPER: "short",
  };
  assert.throws(
    () => parseConfig(env),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      for (const name of Object.keys(env)) {
        assert.ok(
          error.mistakes.some((mistake) => mistake.startsWith(name)),
          `${name} in ${error.message}`,
        );
      }
      return !error.message.includes("\n");
    },
  );
});

test("a shared database needs a shared pepper", () => {
  assert.throws(() => parseConfig({ DATABASE_URL: "postgres://localhost/x" }), /KEY_PEPPER/);
  assert.ok(parseConfig({ DATABASE_URL: "postgres://localhost/x", KEY_PEPPER: "p".repeat(32) }));
});

test("NATS needs all that plane init writes, and the certificate of the hub its key", () => {
  const seed = (letters: string): string => letters + "A".repeat(56);
  const nats = {
    NATS_URL: "nats://a:4222,tls://b",
    PLANE_SEED: seed("SA"),
    NATS_OPERATOR_SEED: seed("SO"),
    NATS_SYSTEM_JWT: "e30.e30.AAAA",
    NATS_SYSTEM_SEED: seed("SU"),
  };
  const { plane } = parseConfig(nats);
  assert.deepEqual(plane.nats, {
    url: nats.NATS_URL,
    operatorSeed: seed("SO"),
    system: { jwt: "e30.e30.AAAA", seed: seed("SU") },
  });
  for (const name of ["PLANE_SEED", "NATS_OPERATOR_SEED", "NATS_SYSTEM_JWT", "NATS_SYSTEM_SEED"]) {
    assert.throws(() => parseConfig({ ...nats, [name]: undefined }), new RegExp(`${name} must be set beside NATS_URL`));
    assert.throws(() => parseConfig({ ...nats, [name]: "x" }), new RegExp(name));
  }
  for (const url of ["http://a", "nats://", "a:4222", "nats://a, nats://b", "nats://user:pass@a"]) {
    assert.throws(() => parseConfig({ ...nats, NATS_URL: url }), /NATS_URL must be nats:/, url);
  }
  assert.equal(parseConfig({}).plane.nats, undefined);

  assert.throws(() => parseConfig({ PLANE_TLS_CERT: "cert.pem" }), /PLANE_TLS_CERT and PLANE_TLS_KEY/);
  assert.deepEqual(parseConfig({ PLANE_TLS_CERT: "c.pem", PLANE_TLS_KEY: "k.pem" }).plane.tls, {
    certFile: "c.pem",
    keyFile: "k.pem",
  });
  assert.equal(parseConfig({}).plane.credentialTtlMs, 3_600_000);
  assert.throws(() => parseConfig({ PLANE_CREDENTIAL_TTL_S: "1" }), /PLANE_CREDENTIAL_TTL_S must be 5 or more/);
});
