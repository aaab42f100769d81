import assert from "node:assert/strict";
import { test } from "node:test";
import { isCrossSite } from "./cross-site.ts";

const OURS = "http://gate.test:8080";

interface Row {
  why: string;
  site?: string;
  origin?: string;
  host?: string;
  publicUrl?: string;
  scheme?: "http" | "https";
  refused: boolean;
}

const ROWS: Row[] = [
  { why: "our page", site: "same-origin", origin: OURS, refused: false },
  { why: "typed by a person", site: "none", refused: false },
  {
    why: "our page behind a proxy that renames us",
    site: "same-origin",
    origin: "https://public.test",
    refused: false,
  },
  { why: "a sister site", site: "same-site", origin: OURS, refused: true },
  { why: "another site", site: "cross-site", origin: "http://evil.test", refused: true },
  { why: "another site with our Origin", site: "cross-site", origin: OURS, refused: true },
  { why: "a value nobody knows", site: "whatever", origin: OURS, refused: true },
  { why: "an empty value", site: "", origin: OURS, refused: true },

  { why: "no Sec-Fetch-Site, our Origin", origin: OURS, refused: false },
  { why: "our Origin, Host in capitals", origin: OURS, host: "GATE.test:8080", refused: false },
  { why: "our Origin, Host with the default port", origin: "http://gate.test", host: "gate.test:80", refused: false },
  { why: "no Sec-Fetch-Site, TLS ends before us", origin: "https://gate.test:8080", refused: false },
  { why: "plain HTTP where this request came by TLS", origin: OURS, scheme: "https", refused: true },
  { why: "TLS all the way", origin: "https://gate.test:8080", scheme: "https", refused: false },
  { why: "another host", origin: "http://evil.test:8080", refused: true },
  { why: "another port", origin: "http://gate.test:9999", refused: true },
  { why: "a host that begins like ours", origin: "http://gate.test:8080.evil.test", refused: true },
  { why: "a sandboxed page", origin: "null", refused: true },
  { why: "no Origin in the header", origin: "gate.test:8080", refused: true },
  { why: "more than an Origin", origin: `${OURS}/console`, refused: true },
  { why: "neither header, as curl sends it", refused: true },

  { why: "the public address", origin: "https://public.test", publicUrl: "https://public.test/", refused: false },
  { why: "our Host by TLS", origin: "https://gate.test:8080", publicUrl: "https://public.test", refused: false },
  { why: "plain HTTP where TLS is known", origin: OURS, publicUrl: "https://gate.test:8080", refused: true },
];

for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
  test(`the cross-site guard refuses ${method} unless the request came from one of the console's own pages`, () => {
    for (const { why, site, origin, host = "gate.test:8080", publicUrl, scheme = "http", refused } of ROWS) {
      assert.equal(isCrossSite({ method, site, origin, host, scheme }, publicUrl), refused, why);
    }
  });
}

test("the cross-site guard refuses a request without a Host, which cannot match an Origin", () => {
  assert.equal(
    isCrossSite({ method: "POST", site: undefined, origin: OURS, host: undefined, scheme: "http" }, undefined),
    true,
  );
});

test("the cross-site guard allows requests that only read, from any site", () => {
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    const arrival = {
      method,
      site: "cross-site",
      origin: "http://evil.test",
      host: "gate.test",
      scheme: "http",
    } as const;
    assert.equal(isCrossSite(arrival, undefined), false, method);
  }
});
