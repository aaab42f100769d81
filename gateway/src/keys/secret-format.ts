/**
 * The format of API keys and host tokens: `tsk_live_<reference>_<secret>`. The reference is public and finds the row.
 * The secret has 256 bits, is shown once and is stored as an HMAC with the server's pepper, so that a stolen database
 * gives no access.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { makeBase62 } from "../base/ids.ts";
import type { Random } from "../base/random.ts";

const REFERENCE_LENGTH = 12;
const SECRET_LENGTH = 43;
const FORM = /^(tsk|tht)_live_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})$/;

export type SecretPrefix = "tsk" | "tht";

interface NewSecret {
  /** The whole token, which is never stored. */
  token: string;
  reference: string;
  hash: Buffer;
}

export function makeSecret(kind: SecretPrefix, random: Random, pepper: string): NewSecret {
  const reference = makeBase62(random, REFERENCE_LENGTH);
  const token = `${kind}_live_${reference}_${makeBase62(random, SECRET_LENGTH)}`;
  return { token, reference, hash: hashToken(token, pepper) };
}

export function hashToken(token: string, pepper: string): Buffer {
  return createHmac("sha256", pepper).update(token).digest();
}

/**
 * The key of a token in the cache. It is only in memory, so a plain hash is enough, which takes a fifth of an HMAC's
 * time.
 */
export function computeCacheKey(token: string, pepper: string): string {
  return hash("sha256", `${pepper} ${token}`, "base64");
}

/**
 * Returns the public part of a token, by which its row is found (the reference). Undefined if the token does not have
 * the format of this kind.
 */
export function extractTokenReference(kind: SecretPrefix, token: string): string | undefined {
  const match = FORM.exec(token);
  return match?.[1] === kind ? match[2] : undefined;
}

export function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns the token of an `Authorization: Bearer …` header. */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const match = /^bearer +(\S+) *$/i.exec(header);
  return match?.[1];
}
