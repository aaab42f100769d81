/**
 * The typed client of the console API: `await call("PATCH /console/api/keys/{id}", { path: { id }, body: { name } })`
 * returns the response, or throws an ApiFault.
 */
import type { RouteRequestArgs, RouteResponse } from "@tollgate/api/client-types.ts";
import { saveBlob } from "../save-text.ts";
import { ACCOUNT_HEADER } from "./account-header.ts";
import { parseFault } from "./api-fault.ts";
import { findAccountIdForPath } from "./chosen-account.ts";
import { askGateway } from "./gateway-requests.ts";
import { buildUrl, type ConsoleRoute, type RouteParameters, readRouteMethod, readRoutePath } from "./route-urls.ts";

export const callConsoleApi = <Of extends ConsoleRoute>(
  at: Of,
  ...[sent]: RouteRequestArgs<Of>
): Promise<RouteResponse<Of>> => send(at, sent, accountHeader(at));

/** Like `call`, for routes that builders and hosts share: the path does not show which account is meant. */
export const callConsoleApiForAccount = <Of extends ConsoleRoute>(
  accountId: string,
  at: Of,
  ...[sent]: RouteRequestArgs<Of>
): Promise<RouteResponse<Of>> => send(at, sent, { [ACCOUNT_HEADER]: accountId });

async function send<Of extends ConsoleRoute>(
  at: Of,
  sent: unknown,
  account: Record<string, string>,
): Promise<RouteResponse<Of>> {
  const { body } = (sent ?? {}) as RouteParameters;
  const headers = { ...account, ...(body !== undefined && { "content-type": "application/json" }) };
  const response = await askGateway(buildUrl(at, sent), {
    method: readRouteMethod(at),
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await faultIn(response);
  return (await response.json()) as RouteResponse<Of>;
}

/** Downloads a file with the session and the chosen account, and saves it through the browser. */
export async function saveFile<Of extends ConsoleRoute>(
  name: string,
  at: Of,
  ...[sent]: RouteRequestArgs<Of>
): Promise<void> {
  const response = await askGateway(buildUrl(at, sent), { headers: accountHeader(at) });
  if (!response.ok) throw await faultIn(response);
  saveBlob(name, await response.blob());
}

function accountHeader(at: ConsoleRoute): Record<string, string> {
  const account = findAccountIdForPath(readRoutePath(at));
  return account === undefined ? {} : { [ACCOUNT_HEADER]: account };
}

/** Parses an error response. A proxy's response may have no JSON body. The error then has only the status. */
const faultIn = async (response: Response): Promise<Error> =>
  parseFault(response.status, await response.json().catch(() => undefined));
