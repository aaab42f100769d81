/** The response headers of the public API, as the document describes them. */
import type { Header, Ref } from "@tollgate/api/openapi/openapi.ts";

export const HEADERS = {
  "x-request-id": {
    description: "The request's id, on every response. The same suffix identifies the call in the usage history.",
    schema: { type: "string", pattern: "^req_[0-9a-hjkmnp-tv-z]{26}$" },
  },
  "x-should-retry": {
    description: "On errors: whether a client should try again by itself. Absent where it is as the client likes.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": {
    description: "Whole seconds to wait before trying again. On every 429 and 503.",
    schema: { type: "integer", minimum: 1 },
  },
  "cache-control": {
    description: "Anybody may keep the answer for five minutes.",
    schema: { type: "string", const: "public, max-age=300" },
  },
  "x-ratelimit-limit-requests": {
    description: "Requests that the key may make in a minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-requests": {
    description: "Requests left in the current minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-requests": {
    description: "Time until the requests are counted anew, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
  "x-ratelimit-limit-tokens": {
    description: "Tokens, prompt and output together, that the key may use in a minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining-tokens": {
    description: "Tokens left in the current minute. A request's tokens are counted when it ends.",
    schema: { type: "integer" },
  },
  "x-ratelimit-reset-tokens": {
    description: "Time until the tokens are counted anew, such as `12ms`, `1s` or `6m0s`.",
    schema: { type: "string" },
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof HEADERS;

/** On every response to a request with a valid key. */
export const RATE_LIMIT_HEADERS = (Object.keys(HEADERS) as HeaderName[]).filter((name) =>
  name.startsWith("x-ratelimit-"),
);

export function headerRefs(names: readonly HeaderName[]): Record<string, Ref> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
