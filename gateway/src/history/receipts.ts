/**
 * Usage receipts: a request's counts and charge, signed with Ed25519, so that builders and hosts can prove them
 * offline. A receipt is created from the record on demand; signing is deterministic, so the same key gives the same
 * receipt.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { publicId } from "../base/ids.ts";
import type { EndpointName, FinishReason, RequestOutcome } from "../base/stored-enumerations.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { RequestRecord } from "./request-history.ts";

/** The fixed DER bytes before the 32 bytes of an Ed25519 key. */
const PRIVATE_DER = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_DER = Buffer.from("302a300506032b6570032100", "hex");

interface Receipt {
  object: "usage.receipt";
  version: 1;
  request_id: string;
  endpoint: EndpointName;
  model: string | null;
  build: string | null;
  tokenizer: string | null;
  outcome: RequestOutcome;
  finish_reason: FinishReason | null;
  prompt_tokens: number;
  completion_tokens: number;
  reasoning_tokens: number;
  price_version: number | null;
  /** Picodollars as decimal strings, because they exceed the precision of JSON numbers. */
  hold_pico: string;
  charge_pico: string;
  host_share_pico: string;
  created_at: string;
  finished_at: string;
  key_id: string;
  /** The Ed25519 signature of all other fields as canonical JSON, in base64url. */
  signature: string;
}

interface ReceiptKey {
  id: string;
  /** 32 bytes in base64url. */
  public_key: string;
}

export interface Receipts {
  of(record: RequestRecord): Receipt;
  /** Every key that was ever used, so that old receipts can be verified offline. */
  keys(): Promise<ReceiptKey[]>;
}

const StoredKey = row({ id: z.string(), publicKey: column.bytes });

/** `seed`: 32 secret bytes. The public key is published permanently. */
export async function openReceipts(options: { pool: pg.Pool; seed: Buffer }): Promise<Receipts> {
  const { pool, seed } = options;
  const { privateKey, publicKey, keyId } = deriveReceiptKey(seed);
  await pool.query("insert into receipt_key (id, public_key) values ($1, $2) on conflict do nothing", [
    keyId,
    publicKey,
  ]);
  return {
    of: (record) => signed(record, keyId, privateKey),
    keys: () => listPublishedKeys(pool),
  };
}

/** The key of this seed, whether published or not. */
export function deriveReceiptKey(seed: Buffer): { privateKey: KeyObject; publicKey: Buffer; keyId: string } {
  const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_DER, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(PUBLIC_DER.length);
  return { privateKey, publicKey, keyId: createHash("sha256").update(publicKey).digest("hex").slice(0, 16) };
}

export async function listPublishedKeys(pool: pg.Pool): Promise<ReceiptKey[]> {
  const text = `select id, public_key as "publicKey" from receipt_key order by created_at`;
  const stored = await queryRows(pool, StoredKey, text);
  return stored.map(({ id, publicKey }) => ({ id, public_key: publicKey.toString("base64url") }));
}

function signed(record: RequestRecord, keyId: string, privateKey: KeyObject): Receipt {
  const facts: Omit<Receipt, "signature"> = {
    object: "usage.receipt",
    version: 1,
    request_id: publicId("req", record.id),
    endpoint: record.endpoint,
    model: record.model,
    build: record.build,
    tokenizer: record.tokenizer,
    outcome: record.outcome,
    finish_reason: record.finishReason,
    prompt_tokens: record.promptTokens,
    completion_tokens: record.completionTokens,
    reasoning_tokens: record.reasoningTokens,
    price_version: record.priceVersion,
    hold_pico: record.hold.toString(),
    charge_pico: record.charge.toString(),
    host_share_pico: record.hostShare.toString(),
    created_at: record.createdAt.toISOString(),
    finished_at: record.finishedAt.toISOString(),
    key_id: keyId,
  };
  return { ...facts, signature: sign(null, canonical(facts), privateKey).toString("base64url") };
}

/** Signs a receipt with a seed, to check the seed. Gateways use `openReceipts`. */
export function signReceipt(record: RequestRecord, seed: Buffer): Receipt {
  const { keyId, privateKey } = deriveReceiptKey(seed);
  return signed(record, keyId, privateKey);
}

type Verdict = { valid: true } | { valid: false; why: string };

/** Verifies a receipt with published keys, without network or database. */
export function verifyReceipt(receipt: unknown, keys: ReceiptKey[]): Verdict {
  if (typeof receipt !== "object" || receipt === null || Array.isArray(receipt)) return no("it is not a receipt");
  const { signature, ...facts } = receipt as Record<string, unknown>;
  if (facts.object !== "usage.receipt") return no("it is not a usage receipt");
  if (facts.version !== 1) return no(`its version ${String(facts.version)} is not supported`);
  if (typeof signature !== "string") return no("it has no signature");
  const key = keys.find(({ id }) => id === facts.key_id);
  if (key === undefined)
    return no(`the signing key ${String(facts.key_id)} is not among the platform's published keys`);
  const raw = Buffer.from(key.public_key, "base64url");
  if (raw.length !== 32) return no(`the published key ${key.id} is malformed`);
  const publicKey = createPublicKey({ key: Buffer.concat([PUBLIC_DER, raw]), format: "der", type: "spki" });
  const good = verify(null, canonical(facts), publicKey, Buffer.from(signature, "base64url"));
  return good ? { valid: true } : no("the signature does not match the receipt's content");
}

const no = (why: string): Verdict => ({ valid: false, why });

/** Canonical JSON, with sorted keys and without spaces: equal facts give equal bytes. */
function canonical(facts: Record<string, unknown> | Omit<Receipt, "signature">): Buffer {
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(facts).sort(([a], [b]) => (a < b ? -1 : 1)))));
}
