/** Writes DER, the encoding of certificates: a tag, the length and the content. */

export function encodeDerValue(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

export const encodeDerSequence = (...parts: Buffer[]): Buffer => encodeDerValue(0x30, ...parts);

/** An object identifier, from its bytes in hexadecimal. */
export const encodeDerOid = (hex: string): Buffer => encodeDerValue(0x06, Buffer.from(hex, "hex"));

export function encodeCertificatePem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
