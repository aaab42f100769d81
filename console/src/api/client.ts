/** The typed client of the console API. Every call goes through `ask`, which gives the answer or throws an ApiFault. */
import createClient from "openapi-fetch";
import { actingFor } from "./acting.ts";
import { faultOf } from "./fault.ts";
import type { paths as PublicPaths } from "./public.d.ts";
import type { paths as ConsolePaths } from "./schema.d.ts";

const ACCOUNT_HEADER = "x-tollgate-account";

export const api = createClient<ConsolePaths & Pick<PublicPaths, "/v1/catalog/rates">>({ baseUrl: location.origin });

api.use({
  onRequest({ request, schemaPath }) {
    const account = actingFor(schemaPath);
    if (account !== undefined) request.headers.set(ACCOUNT_HEADER, account);
    return request;
  },
});

interface Answered<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** `await ask(api.GET("/console/api/keys"))` → the list, or throws what the API said. */
export async function ask<Data>(call: Promise<Answered<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok || data === undefined) throw faultOf(response.status, error);
  return data;
}

/** Loads a file with the session and the account that the page acts for, and hands it to the browser to save. */
export async function saveFile(path: string, name: string): Promise<void> {
  const account = actingFor(path);
  const response = await fetch(path, account === undefined ? {} : { headers: { [ACCOUNT_HEADER]: account } });
  if (!response.ok) throw faultOf(response.status, await response.json().catch(() => undefined));
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export { ACCOUNT_HEADER };
