/** For tests: a certificate for this machine, created at run time so that the repository contains no private key. */
import { generateKeyPairSync, sign } from "node:crypto";
import { encodeCertificatePem, encodeDerOid, encodeDerSequence, encodeDerValue } from "../credentials/der.ts";

const ED25519 = encodeDerSequence(encodeDerOid("2b6570"));
const COMMON_NAME = encodeDerOid("550403");
const SUBJECT_ALT_NAME = encodeDerOid("551d11");

/** `commonName`: certificates that are trusted at the same time need different names. */
export function selfSignedCertificate(commonName = "tollgate test"): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const name = encodeDerSequence(
    encodeDerValue(0x31, encodeDerSequence(COMMON_NAME, encodeDerValue(0x0c, Buffer.from(commonName)))),
  );
  const validity = encodeDerSequence(
    encodeDerValue(0x17, Buffer.from("200101000000Z")),
    encodeDerValue(0x17, Buffer.from("490101000000Z")),
  );
  // A NATS client that connects to an IP address verifies the certificate for "localhost".
  const names = encodeDerSequence(
    encodeDerValue(0x82, Buffer.from("localhost")),
    encodeDerValue(0x87, Buffer.of(127, 0, 0, 1)),
  );
  const body = encodeDerSequence(
    encodeDerValue(0xa0, encodeDerValue(0x02, Buffer.of(2))),
    encodeDerValue(0x02, Buffer.of(1)),
    ED25519,
    name,
    validity,
    name,
    publicKey.export({ format: "der", type: "spki" }),
    encodeDerValue(0xa3, encodeDerSequence(encodeDerSequence(SUBJECT_ALT_NAME, encodeDerValue(0x04, names)))),
  );
  const signature = encodeDerValue(0x03, Buffer.of(0), sign(null, body, privateKey));
  return {
    cert: encodeCertificatePem(encodeDerSequence(body, ED25519, signature)),
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}
