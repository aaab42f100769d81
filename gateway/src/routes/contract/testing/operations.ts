/** For tests: the operations of an API by its declaration, and the method and URL of each. */
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import { type Method, type Route, splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";

export interface Operation extends Route {
  id: string;
}

export const listOperations = (api: Api): Operation[] =>
  api.tables.flatMap(({ routes }) => Object.entries(routes).map(([id, route]) => ({ ...route, id })));

/** The method and the URL of an operation, with this ID in the path. */
export function operationRequestLine(operation: Route, id = "none", query = ""): { method: Method; url: string } {
  const { method, url } = splitMethodAndUrl(operation);
  return { method, url: url.replace(/:\w+/, id) + (query && `?${query}`) };
}

/** The ID's prefix according to the path's description: `key` for "The key ID, `key_…`." */
export const findIdPrefix = ({ path }: Route): string | undefined => /`(\w+)_…`/.exec(path?.id ?? "")?.[1];

export const isStream = ({ answer }: Route): boolean => answer.events !== undefined;
