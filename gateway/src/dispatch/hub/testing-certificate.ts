/** A certificate for this machine made on the spot, so that no private key lies in the repository. For tests only. */
import { generateKeyPairSync, sign } from "node:crypto";

/** DER: a tag, the length and the content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const ED25519 = sequence(der(0x06, Buffer.from("2b6570", "hex")));
const COMMON_NAME = der(0x06, Buffer.from("550403", "hex"));
const SUBJECT_ALT_NAME = der(0x06, Buffer.from("551d11", "hex"));

export function selfSignedCertificate(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from("tollgate test")))));
  const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("490101000000Z")));
  // A NATS client that dials an address checks the certificate for "localhost".
  const names = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.of(127, 0, 0, 1)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ED25519,
    name,
    validity,
    name,
    publicKey.export({ format: "der", type: "spki" }),
    der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(0x04, names)))),
  );
  const signature = der(0x03, Buffer.of(0), sign(null, body, privateKey));
  const base64 = sequence(body, ED25519, signature).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}
