/** For tests: reads a builder's request history page by page. */
import assert from "node:assert/strict";
import type { Person } from "./sign-in-test-person.ts";

export const REQUESTS_URL = "/console/api/requests";

type Answer = Awaited<ReturnType<Person["browser"]["send"]>>;

export interface RequestObject {
  [field: string]: unknown;
  id: string;
}

export const getRequests = (person: Person, query: Record<string, string> = {}): Promise<Answer> =>
  person.browser.send("GET", `${REQUESTS_URL}?${new URLSearchParams(query)}`);

export const idsOf = (answer: Pick<Answer, "body">): string[] =>
  (answer.body.data as RequestObject[]).map(({ id }) => id);

/** Returns the requests' IDs on every page of a query, and checks that each page but the last is full. */
export async function readAllPages(person: Person, query: Record<string, string>, limit = 7): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: unknown; cursor !== null; ) {
    const more = cursor === undefined ? {} : { cursor: String(cursor) };
    const page = await getRequests(person, { ...query, limit: String(limit), ...more });
    assert.equal(page.status, 200, page.text);
    const ids = idsOf(page);
    cursor = page.body.next_cursor;
    if (cursor !== null) assert.equal(ids.length, limit);
    found.push(...ids);
  }
  return found;
}
