/** Answers that clients and proxies may keep: five minutes without asking, and then only the news. */
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

const KEEP = "public, max-age=300";

export function etagOf(body: string): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
}

/** 200 with the body, or 304 for a client that has it already. */
export function sendCached(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  {
    body,
    etag = etagOf(body),
    type = "application/json; charset=utf-8",
  }: { body: string; etag?: string; type?: string },
): FastifyReply {
  reply.headers({ etag, "cache-control": KEEP });
  const known = (headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*")) return reply.code(304).send();
  return reply.type(type).send(body);
}
