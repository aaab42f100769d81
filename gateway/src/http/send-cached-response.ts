/**
 * Sends cacheable answers. Clients may reuse them for five minutes by default, and then check with the ETag whether
 * they changed.
 */
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

const KEEP_S = 300;

export function computeEtag(body: string | Buffer): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
}

interface Cached {
  /** The body, or a function that builds it, which is called only for clients without a current copy. */
  body: string | Buffer | (() => string);
  etag?: string;
  type?: string;
  /** `private`: shared proxies must not cache the answer. */
  keep?: "public" | "private";
  keepS?: number;
}

const made = (body: Cached["body"]): string | Buffer => (typeof body === "function" ? body() : body);

/** Sends 200 with the body, or 304 if the client's copy is current. */
export function sendCachedResponse(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { body, etag, type = "application/json; charset=utf-8", keep = "public", keepS = KEEP_S }: Cached,
): FastifyReply {
  const tag = etag ?? computeEtag(made(body));
  reply.headers({ etag: tag, "cache-control": `${keep}, max-age=${keepS}` });
  const known = (headers["if-none-match"] ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known.includes(tag) || known.includes("*")) return reply.code(304).send();
  return reply.type(type).send(made(body));
}
