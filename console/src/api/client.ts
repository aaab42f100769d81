/**
 * The typed client of the console API: `await call("PATCH /console/api/keys/{id}", { path: { id }, body: { name } })`
 * returns the response, or throws an ApiFault.
 */
import type { Got, SentAs } from "@tollgate/api/client.ts";
import { saveBlob } from "../save-text.ts";
import { ACCOUNT_HEADER } from "./account-header.ts";
import { actingFor } from "./acting.ts";
import { type At, addressWith, methodOf, type Parts, pathOf } from "./address.ts";
import { faultOf } from "./fault.ts";
import { askGateway } from "./gateway.ts";

export const call = <Of extends At>(at: Of, ...[sent]: SentAs<Of>): Promise<Got<Of>> =>
  send(at, sent, accountHeader(at));

/** Like `call`, for routes that builders and hosts share: the path does not show which account is meant. */
export const callFor = <Of extends At>(accountId: string, at: Of, ...[sent]: SentAs<Of>): Promise<Got<Of>> =>
  send(at, sent, { [ACCOUNT_HEADER]: accountId });

async function send<Of extends At>(at: Of, sent: unknown, account: Record<string, string>): Promise<Got<Of>> {
  const { body } = (sent ?? {}) as Parts;
  const headers = { ...account, ...(body !== undefined && { "content-type": "application/json" }) };
  const response = await askGateway(addressWith(at, sent), {
    method: methodOf(at),
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await faultIn(response);
  return (await response.json()) as Got<Of>;
}

/** Downloads a file with the session and the chosen account, and saves it through the browser. */
export async function saveFile<Of extends At>(name: string, at: Of, ...[sent]: SentAs<Of>): Promise<void> {
  const response = await askGateway(addressWith(at, sent), { headers: accountHeader(at) });
  if (!response.ok) throw await faultIn(response);
  saveBlob(name, await response.blob());
}

function accountHeader(at: At): Record<string, string> {
  const account = actingFor(pathOf(at));
  return account === undefined ? {} : { [ACCOUNT_HEADER]: account };
}

/** A proxy may refuse without a JSON body. The error then has only the status. */
const faultIn = async (response: Response): Promise<Error> =>
  faultOf(response.status, await response.json().catch(() => undefined));
