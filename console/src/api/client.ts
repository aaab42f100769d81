/**
 * The client of the console API, typed by its declaration: `await call("PATCH /console/api/keys/{id}", { path: { id }, body:
 * { name } })` gives the answer, or throws an ApiFault.
 */
import type { ConsoleCalls, Got, Place, SentAs } from "@tollgate/api/client.ts";
import { actingFor } from "./acting.ts";
import { faultOf } from "./fault.ts";
import { askGateway } from "./gateway.ts";

export const ACCOUNT_HEADER = "x-tollgate-account";

type At = keyof ConsoleCalls & Place;
type Values = Record<string, string | number | undefined>;

/** What any route may be sent; which of it a route takes, its type says. */
interface Parts {
  path?: Record<string, string>;
  query?: Values;
  body?: object;
}

export async function call<Of extends At>(at: Of, ...[sent]: SentAs<Of>): Promise<Got<Of>> {
  const { body } = (sent ?? {}) as Parts;
  const headers = { ...accountHeader(at), ...(body !== undefined && { "content-type": "application/json" }) };
  const response = await askGateway(addressOf(at, sent), {
    method: methodOf(at),
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await faultIn(response);
  return (await response.json()) as Got<Of>;
}

/** Loads a file with the session and the account that the page acts for, and hands it to the browser to save. */
export async function saveFile<Of extends At>(name: string, at: Of, ...[sent]: SentAs<Of>): Promise<void> {
  const response = await askGateway(addressOf(at, sent), { headers: accountHeader(at) });
  if (!response.ok) throw await faultIn(response);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

const methodOf = (at: At): string => at.slice(0, at.indexOf(" "));
const pathOf = (at: At): string => at.slice(at.indexOf(" ") + 1);

/** `GET /console/api/keys/{id}` → `/console/api/keys/key_1?limit=5`. */
function addressOf(at: At, sent: unknown): string {
  const { path = {}, query = {} } = (sent ?? {}) as Parts;
  const filled = pathOf(at).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}

function accountHeader(at: At): Record<string, string> {
  const account = actingFor(pathOf(at));
  return account === undefined ? {} : { [ACCOUNT_HEADER]: account };
}

/** What refused may be no gateway but something before it, which does not speak JSON: its status says enough then. */
const faultIn = async (response: Response): Promise<Error> =>
  faultOf(response.status, await response.json().catch(() => undefined));
