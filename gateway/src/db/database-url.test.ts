import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseDatabaseUrl } from "./database-url.ts";

const hostsOf = (url: string) => parseDatabaseUrl(url).hosts;

describe("a database URL", () => {
  test("lists several hosts in order, with a port each or one port for all", () => {
    const url = "postgres://u:p%40ss@a:5432,b:5433/db?target_session_attrs=read-write";
    const { hosts, user, password, database, target } = parseDatabaseUrl(url);
    assert.deepEqual(hosts, [
      { host: "a", port: 5432 },
      { host: "b", port: 5433 },
    ]);
    assert.deepEqual([user, password, database, target], ["u", "p@ss", "db", "read-write"]);
    assert.deepEqual(hostsOf("postgresql://[::1]:6000,b/db"), [
      { host: "::1", port: 6000 },
      { host: "b", port: undefined },
    ]);
    assert.deepEqual(hostsOf("postgres://u@x:6000/db?host=/run/a,/run/b"), [
      { host: "/run/a", port: 6000 },
      { host: "/run/b", port: 6000 },
    ]);
    assert.deepEqual(hostsOf("postgres:///db"), [{ host: undefined, port: undefined }]);
    assert.deepEqual(hostsOf("postgres://%2Frun%2Fpg/db"), [{ host: "/run/pg", port: undefined }]);
  });

  test("accepts percent-encoded options, and parameters with the values that Tollgate sets itself", () => {
    const url = "postgres://a/db?options=-c%20synchronous_commit%3Dremote_apply&client_encoding=UTF8&gssencmode=prefer";
    assert.equal(parseDatabaseUrl(url).options, "-c synchronous_commit=remote_apply");
  });

  const REFUSED: [url: string, rule: RegExp][] = [
    ["mysql://a/db", /^must begin with postgres:\/\/ or postgresql:\/\//],
    ["postgres://u:p#w@a/db", /%23/],
    ["postgres://u:p%w@a/db", /%25/],
    ["postgres://a:5432,b:70000/db", /ports from 1 to 65535$/],
    ["postgres://a:x/db", /host:port/],
    ["postgres://u:secret/word@a/db", /host:port.*percent-encode/],
    ["postgres://a,b/db?port=1,2,3", /2 hosts and 3 ports/],
    ["postgres://a/db?application_name=x", /application_name, which Tollgate sets/],
    [
      "postgres://a/db?target_session_attrs=standby",
      /target_session_attrs to one of any, read-write, primary, not "standby"/,
    ],
    ["postgres://a/db?sslmode=no-verify", /sslmode to one of disable, .*verify-full, not "no-verify"/],
    ["postgres://a/db?sslmode=verify-ca", /sslrootcert/],
    ["postgres://a/db?sslmode=require&sslcert=/x", /both sslcert and sslkey, or neither/],
    ["postgres://a/db?sslrootcert=/x", /must set sslmode/],
    ["postgres://a/db?ssl=true", /parameter ssl, which Tollgate does not support/],
    ["postgres://a/db?statement_timeout=5", /parameter statement_timeout.*options=-c/],
    ["postgres://a/db?client_encoding=LATIN1", /client_encoding to one of/],
  ];
  for (const [url, rule] of REFUSED) {
    test(`refuses ${url} and gives the reason without repeating the value`, () => {
      assert.throws(
        () => parseDatabaseUrl(url),
        (error: Error) => {
          assert.match(error.message, rule);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
    });
  }
});
