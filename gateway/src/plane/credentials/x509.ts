/**
 * Certificates of a private authority for servers that trust each other: X.509 version 3 with P-256 keys, which every
 * TLS library supports. Node.js can sign certificates but not write them, so this file writes the few necessary kinds
 * in DER.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { DAY_MS } from "../../base/time.ts";
import { encodeCertificatePem, encodeDerOid, encodeDerSequence, encodeDerValue } from "./der.ts";

interface Certificate {
  /** The certificate in PEM format. `key`: its private key. */
  cert: string;
  key: string;
}

/** A certificate authority, which signs server certificates. */
interface Authority extends Certificate {
  /**
   * Issues a certificate for a server with these names and addresses. The server may also use it as a client of other
   * servers.
   */
  issue(name: string, hosts: readonly string[]): Certificate;
}

const YEARS = 10;
/** Certificates are dated a day back, because clocks differ. */
const BACKDATED_MS = DAY_MS;

const ECDSA_WITH_SHA256 = encodeDerSequence(encodeDerOid("2a8648ce3d040302"));
const COMMON_NAME = encodeDerOid("550403");
const TRUE = encodeDerValue(0x01, Buffer.of(0xff));
const SERVER_AND_CLIENT = encodeDerSequence(encodeDerOid("2b06010505070301"), encodeDerOid("2b06010505070302"));

export function createAuthority({ name, nowMs }: { name: string; nowMs: number }): Authority {
  const keys = newKeys();
  const facts = { issuer: name, signer: keys.privateKey, nowMs };
  const id = keyId(keys.publicKey);
  // The authority may sign server certificates, but no further authority.
  const constraints = encodeDerSequence(TRUE, encodeDerValue(0x02, Buffer.of(0)));
  const extensions = [
    extension("551d13", constraints, { critical: true }),
    extension("551d0f", encodeDerValue(0x03, Buffer.of(1, 0b00000110)), { critical: true }),
    extension("551d0e", encodeDerValue(0x04, id)),
  ];
  return {
    ...certificate({ ...facts, subject: name, keys, extensions }),
    issue(subject, hosts) {
      const own = newKeys();
      return certificate({
        ...facts,
        subject,
        keys: own,
        extensions: [
          extension("551d13", encodeDerSequence(), { critical: true }),
          extension("551d0f", encodeDerValue(0x03, Buffer.of(7, 0b10000000)), { critical: true }),
          extension("551d25", SERVER_AND_CLIENT),
          extension("551d11", encodeDerSequence(...hosts.map(alternativeName))),
          extension("551d0e", encodeDerValue(0x04, keyId(own.publicKey))),
          extension("551d23", encodeDerSequence(encodeDerValue(0x80, id))),
        ],
      });
    },
  };
}

interface Keys {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

interface CertificateFacts {
  subject: string;
  issuer: string;
  keys: Keys;
  signer: KeyObject;
  extensions: Buffer[];
  nowMs: number;
}

const newKeys = (): Keys => generateKeyPairSync("ec", { namedCurve: "P-256" });

function certificate({ subject, issuer, keys, signer, extensions, nowMs }: CertificateFacts): Certificate {
  const body = encodeDerSequence(
    encodeDerValue(0xa0, encodeDerValue(0x02, Buffer.of(2))),
    // The serial number: positive and unpredictable.
    encodeDerValue(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer),
    encodeDerSequence(time(nowMs - BACKDATED_MS), time(nowMs + YEARS * 365 * DAY_MS)),
    distinguishedName(subject),
    keys.publicKey.export({ format: "der", type: "spki" }),
    encodeDerValue(0xa3, encodeDerSequence(...extensions)),
  );
  const signature = encodeDerValue(0x03, Buffer.of(0), sign("sha256", body, signer));
  return {
    cert: encodeCertificatePem(encodeDerSequence(body, ECDSA_WITH_SHA256, signature)),
    key: keys.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

const distinguishedName = (name: string): Buffer =>
  encodeDerSequence(encodeDerValue(0x31, encodeDerSequence(COMMON_NAME, encodeDerValue(0x0c, Buffer.from(name)))));

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return encodeDerSequence(encodeDerOid(id), ...(critical ? [TRUE] : []), encodeDerValue(0x04, value));
}

function alternativeName(host: string): Buffer {
  if (isIPv4(host)) return encodeDerValue(0x87, Buffer.from(host.split(".").map(Number)));
  if (isIPv6(host)) return encodeDerValue(0x87, bytesOfIPv6(host));
  return encodeDerValue(0x82, Buffer.from(host, "ascii"));
}

function bytesOfIPv6(address: string): Buffer {
  // The URL parser gives an address its canonical form: hexadecimal groups, with the longest run of zeros left out.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (part: string | undefined): string[] => (part ? part.split(":") : []);
  const [front, back] = [groups(head), groups(tail)];
  const zeros = Array<string>(8 - front.length - back.length).fill("0");
  return Buffer.from([...front, ...zeros, ...back].map((group) => group.padStart(4, "0")).join(""), "hex");
}

/** The standard requires two digits for years before 2050, and four digits from then on. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? encodeDerValue(0x17, Buffer.from(digits.slice(2)))
    : encodeDerValue(0x18, Buffer.from(digits));
}

const keyId = (key: KeyObject): Buffer =>
  createHash("sha256")
    .update(key.export({ format: "der", type: "spki" }))
    .digest()
    .subarray(0, 20);
