/** For tests: the operations of an API as it declares them, and how each is called. */
import type { Api } from "@tollgate/api/openapi/api.ts";
import { type Method, methodAndUrl, type Route } from "@tollgate/api/route.ts";

export interface Operation extends Route {
  id: string;
}

export const operationsOf = (api: Api): Operation[] =>
  api.tables.flatMap(({ routes }) => Object.entries(routes).map(([id, route]) => ({ ...route, id })));

/** The method and address with this id in its path. */
export function addressOf(operation: Route, id = "none", query = ""): { method: Method; url: string } {
  const { method, url } = methodAndUrl(operation);
  return { method, url: url.replace(/:\w+/, id) + (query && `?${query}`) };
}

/** The id's prefix in the declaration's description: `key` for "The key ID, `key_…`." */
export const idPrefixOf = ({ path }: Route): string | undefined => /`(\w+)_…`/.exec(path?.id ?? "")?.[1];

export const isStream = ({ answer }: Route): boolean => answer.events !== undefined;
