/** Answers that clients and proxies may keep: five minutes without asking, and then only the news. */
import { createHash } from "node:crypto";
import type { OpenCall } from "./door.ts";

const KEEP = "public, max-age=300";

export function etagOf(body: string): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
}

/** 200 with the body, or 304 for a client that has it already. */
export function sendCached(call: OpenCall, body: string, etag: string, headers: Record<string, string> = {}): void {
  const caching = { etag, "cache-control": KEEP };
  const known = (call.request.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*")) call.reply.notModified(caching);
  else call.reply.json(200, body, { ...caching, ...headers });
}
