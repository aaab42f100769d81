/** For tests: invalid values for an operation's body, query, account header and path. */
import { ACCOUNT_HEADER, findAccessRules } from "@tollgate/api/guards.ts";
import { publicId } from "../../../base/ids.ts";
import { findIdPrefix, type Operation } from "./operations.ts";
import type { RequestInput } from "./route-coverage.ts";

const FROM_OUR_PAGES = { "sec-fetch-site": "same-origin" };

/** Requests with invalid values, each of which must be refused. `id` names an existing object. */
export function wrongInputs(operation: Operation, id: string | undefined): RequestInput[] {
  const { body, query } = operation;
  return [
    ...(body === undefined ? [] : WRONG_BODIES),
    ...Object.keys(query?.shape ?? {}).map((name) => ({ query: `${name}=%3F` })),
    ...(findAccessRules(operation).parameters.includes("account")
      ? [{ headers: { [ACCOUNT_HEADER]: "acc_of_another" } }]
      : []),
  ].map(({ headers, ...sent }: RequestInput) => ({ ...sent, id, headers: { ...FROM_OUR_PAGES, ...headers } }));
}

const WRONG_BODIES: RequestInput[] = [
  { body: [] },
  { body: {}, headers: { "content-encoding": "gzip" } },
  { body: {}, headers: { "content-length": "11000000" } },
];

/** IDs for which no object exists: one in the valid format, and one in an invalid format. */
export function makeUnknownIds(operation: Operation): string[] {
  const prefix = findIdPrefix(operation);
  return prefix === undefined ? [] : [publicId("req", NOBODYS).replace("req", prefix), "nonsense"];
}

const NOBODYS = "0190b6c5-0000-7000-8000-000000000000" as Parameters<typeof publicId>[1];
