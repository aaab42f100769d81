/** Tests the addresses to which webhooks may be sent. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAddressRule, findUrlMistake, isPublicAddress } from "./webhook-addresses.ts";

const REFUSED = {
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  "this network": ["0.0.0.0", "0.1.2.3", "::"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
  "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
  "link-local": ["169.254.1.1", "fe80::1", "febf::1"],
  "cloud metadata": ["169.254.169.254", "fd00:ec2::254"],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1"],
  "reserved and broadcast": ["240.0.0.1", "255.255.255.255"],
  documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  benchmarks: ["198.18.0.1", "198.19.255.255", "2001:2::1"],
  "IPv4-mapped IPv6 addresses": [
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
  ],
  "Teredo and other special prefixes": ["2001::1", "100::1"],
  "deprecated site-local addresses": ["fec0::1"],
  "invalid addresses": ["", "localhost", "1.2.3", "0x7f000001", "2130706433", "127.1"],
};

describe("webhooks are refused to", () => {
  for (const [what, addresses] of Object.entries(REFUSED)) {
    test(what, () => {
      for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
    });
  }
});

test("webhooks may be sent to public addresses", () => {
  for (const address of [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "192.0.1.1",
    "2606:4700::1111",
    "2a00:1450::1",
  ])
    assert.equal(isPublicAddress(address), true, address);
});

test("a development platform may send webhooks to its own machine, and to no other private address", () => {
  const allows = createAddressRule({ allowLoopback: true });
  for (const address of ["127.0.0.1", "::1", "8.8.8.8"]) assert.equal(allows(address), true, address);
  for (const address of ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "fe80::1", "0.0.0.0"])
    assert.equal(allows(address), false, address);
});

test("the error for a webhook URL names the broken rule", () => {
  const mistake = (url: string) => findUrlMistake(url, { allowLoopback: false });
  assert.equal(mistake("https://hooks.example.com:8443/a?b=c"), undefined);
  assert.equal(mistake("https://8.8.8.8/"), undefined);
  assert.match(mistake("nonsense") ?? "", /must be a URL/);
  for (const url of ["http://example.com", "ftp://example.com", "file:///etc/passwd", "gopher://example.com"])
    assert.match(mistake(url) ?? "", /must begin with https/, url);
  assert.match(mistake("https://user:pw@example.com") ?? "", /user name or password/);
  for (const host of [
    ...["127.0.0.1", "localhost", "LOCALHOST", "a.localhost", "localhost.", "[::1]", "[::ffff:10.0.0.1]", "10.1.2.3"],
    // Other notations of 127.0.0.1 that URLs accept.
    ...["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "①②⑦.0.0.1"],
  ])
    assert.match(mistake(`https://${host}/`) ?? "", /public internet/, host);
  const inDevelopment = (url: string) => findUrlMistake(url, { allowLoopback: true });
  assert.equal(inDevelopment("http://127.0.0.1:9000/hook"), undefined);
  assert.equal(inDevelopment("http://localhost:9000/hook"), undefined);
  assert.match(inDevelopment("http://192.168.0.1/") ?? "", /public internet/);
});
