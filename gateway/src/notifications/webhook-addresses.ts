/**
 * Decides to which addresses webhooks may be sent. Users choose webhook URLs, and the gateway runs inside the
 * operator's network, so only public addresses are allowed, whatever name resolves to them. Pure.
 */
import { BlockList, isIP } from "node:net";

/**
 * IANA's special-purpose addresses that are not globally reachable. IPv4-mapped and translated IPv6 addresses never
 * count as public.
 */
const SPECIAL: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved and broadcast addresses.
  ["224.0.0.0", 3],
];
/** The ranges without public addresses within 2000::/3, the only part of IPv6 that has public addresses. */
const SPECIAL_6: [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const refused = new BlockList();
for (const [net, bits] of SPECIAL) refused.addSubnet(net, bits, "ipv4");
for (const [net, bits] of SPECIAL_6) refused.addSubnet(net, bits, "ipv6");
const givenOut = new BlockList();
givenOut.addSubnet("2000::", 3, "ipv6");
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refused.check(address, "ipv4");
  if (family === 6) return givenOut.check(address, "ipv6") && !refused.check(address, "ipv6");
  return false;
}

const isLoopback = (address: string): boolean =>
  address === "::1" || (isIP(address) === 4 && loopback.check(address, "ipv4"));

/** Returns whether a webhook may be sent to this IP address. */
export type AddressRule = (address: string) => boolean;

/** On a development platform, webhooks may also go to the same machine, and without TLS. */
export const createAddressRule = ({ allowLoopback }: { allowLoopback: boolean }): AddressRule =>
  allowLoopback ? (address) => isPublicAddress(address) || isLoopback(address) : isPublicAddress;

/** Returns what is wrong with a webhook's URL, without a DNS query; undefined if it is valid. */
export function findUrlMistake(text: string, { allowLoopback }: { allowLoopback: boolean }): string | undefined {
  const url = URL.parse(text);
  if (url === null) return "must be a URL, such as https://example.com/hook";
  if (url.protocol !== "https:" && !(allowLoopback && url.protocol === "http:")) return "must begin with https://";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  const host = extractHost(url);
  const isNamed = isIP(host) === 0;
  const rule = createAddressRule({ allowLoopback });
  if (isNamed ? !allowLoopback && /(^|\.)localhost\.?$/i.test(host) : !rule(host))
    return "must be on the public internet, not a private or local address";
  return undefined;
}

/** The host name without the brackets around an IPv6 address. */
export const extractHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");
