/**
 * For tests: how to be refused by an operation of the console, read out of its document. What a guard, a body or a query
 * refuses is the same everywhere, so every operation that documents it is made to show it.
 */
import { publicId } from "../../../base/ids.ts";
import type { Browser } from "../../testing/browser.ts";
import { type Document, type Endpoint, follow, type Parameter, type Response } from "../openapi.ts";
import type { Cast, Visitor } from "./cast.ts";

type Method = Parameters<Browser["send"]>[0];

/** The people who are refused, made once. */
export interface Refused {
  nobody: Visitor;
  builder: Visitor;
  host: Visitor;
  operator: Visitor;
  suspended: Visitor;
}

export async function refusedPeople({ join }: Cast): Promise<Refused> {
  return {
    nobody: await join(),
    builder: await join(["builder"]),
    host: await join(["host"]),
    operator: await join([], { operator: true }),
    suspended: await join(["builder", "host"], { suspended: true }),
  };
}

export function codesOf(document: Document, { operation }: Endpoint): string[] {
  return Object.values(operation.responses).flatMap((response) =>
    Object.keys(follow<Response>(document, response).content?.["application/json"]?.examples ?? {}),
  );
}

/** Calls the operation as its example does, in the browser of one who is refused for the reason that the code names. */
export async function refuseByGuard(cast: Cast, people: Refused, code: string, endpoint: Endpoint): Promise<void> {
  const send = (browser: Browser, headers?: Record<string, string>) =>
    browser.send(methodOf(endpoint), addressOf(endpoint, cast), {
      body: exampleOf(endpoint),
      ...(headers && { headers }),
    });
  const { builder, host, nobody, operator, suspended } = people;
  const byCode: Record<string, () => Promise<unknown>> = {
    not_authenticated: () => send(cast.stranger()),
    cross_site_blocked: () => send(cast.all.browser, { "sec-fetch-site": "cross-site" }),
    no_account: () => send(nobody.browser),
    account_suspended: () => send(suspended.browser),
    member_only: () => send(operator.browser),
    not_a_builder: () => send(host.browser),
    host_only: () => send(builder.browser),
    operator_only: () => send(builder.browser),
  };
  await byCode[code]?.();
}

/** Sends what breaks the rules of the body, the query and the account's header, where the operation takes them. */
export async function refuseInput(cast: Cast, document: Document, endpoint: Endpoint): Promise<void> {
  const { operation } = endpoint;
  const [method, address] = [methodOf(endpoint), addressOf(endpoint, cast)];
  const { browser } = cast.all;
  const headers = { "sec-fetch-site": "same-origin" };
  if (operation.requestBody !== undefined) {
    await browser.send(method, address, { body: [] });
    await browser.send(method, address, { body: {}, headers: { ...headers, "content-encoding": "gzip" } });
    await browser.send(method, address, { body: {}, headers: { ...headers, "content-length": "11000000" } });
  }
  const parameters = (operation.parameters ?? []).map((one) => follow<Parameter>(document, one));
  for (const { name, in: where } of parameters) {
    if (where === "header") await browser.send(method, address, { headers: { ...headers, [name]: "acc_of_another" } });
    if (where === "query") await browser.send(method, `${address}?${name}=%3F`);
  }
}

/** Names a thing that is not there. */
export async function refuseUnknown(cast: Cast, endpoint: Endpoint): Promise<void> {
  const { operation, path } = endpoint;
  if (operation.responses[404] === undefined || !path.includes("{id}")) return;
  const [parameter] = (operation.parameters ?? []) as Parameter[];
  const prefix = /`(\w+)_…`/.exec(parameter?.description ?? "")?.[1] ?? "";
  const suffix = publicId("req", cast.platform.newId()).slice("req_".length);
  for (const id of [`${prefix}_${suffix}`, "nonsense"]) {
    await cast.all.browser.send(methodOf(endpoint), path.replace("{id}", id), { body: exampleOf(endpoint) });
  }
}

const methodOf = ({ method }: Endpoint): Method => method.toUpperCase() as Method;

function exampleOf({ operation }: Endpoint): unknown {
  return operation.requestBody?.content["application/json"]?.examples?.example?.value;
}

/** The path with the id of a thing that is there. */
function addressOf({ path }: Endpoint, { builder, key, node, request }: Cast): string {
  const things: [RegExp, string][] = [
    [/accounts\/\{id\}/, publicId("acc", builder)],
    [/keys\/\{id\}/, key.name],
    [/nodes\/\{id\}/, node.name],
    [/requests\/\{id\}/, request],
  ];
  const [, id = "nonsense"] = things.find(([pattern]) => pattern.test(path)) ?? [];
  return path.replaceAll(/\{\w+\}/g, id);
}
