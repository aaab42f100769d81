/** Builds the URL of a console API call from its route, path parameters and query. Pure. */
import type { ConsoleRouteMap, RouteMethodAndPath, RouteRequestArgs } from "@tollgate/api/client-types.ts";

export type ConsoleRoute = keyof ConsoleRouteMap & RouteMethodAndPath;
type Values = Record<string, string | number | undefined>;

/** The parameters and body that any route may take. A route's own type says which of them it accepts. */
export interface RouteParameters {
  path?: Record<string, string>;
  query?: Values;
  body?: object;
}

export const readRouteMethod = (at: ConsoleRoute): string => at.slice(0, at.indexOf(" "));
export const readRoutePath = (at: ConsoleRoute): string => at.slice(at.indexOf(" ") + 1);

export const buildRouteUrl = <Of extends ConsoleRoute>(at: Of, ...[sent]: RouteRequestArgs<Of>): string =>
  buildUrl(at, sent);

/** For example `GET /console/api/keys/{id}` → `/console/api/keys/key_1?limit=5`. */
export function buildUrl(at: ConsoleRoute, sent: unknown): string {
  const { path = {}, query = {} } = (sent ?? {}) as RouteParameters;
  const filled = readRoutePath(at).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}
