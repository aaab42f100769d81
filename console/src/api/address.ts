/** Builds the URL of a console API call from its route, path parameters and query. Pure. */
import type { ConsoleCalls, Place, SentAs } from "@tollgate/api/client.ts";

export type At = keyof ConsoleCalls & Place;
type Values = Record<string, string | number | undefined>;

/** The parameters and body that any route may take. A route's own type says which of them it accepts. */
export interface Parts {
  path?: Record<string, string>;
  query?: Values;
  body?: object;
}

export const methodOf = (at: At): string => at.slice(0, at.indexOf(" "));
export const pathOf = (at: At): string => at.slice(at.indexOf(" ") + 1);

export const addressOf = <Of extends At>(at: Of, ...[sent]: SentAs<Of>): string => addressWith(at, sent);

/** For example `GET /console/api/keys/{id}` → `/console/api/keys/key_1?limit=5`. */
export function addressWith(at: At, sent: unknown): string {
  const { path = {}, query = {} } = (sent ?? {}) as Parts;
  const filled = pathOf(at).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}
