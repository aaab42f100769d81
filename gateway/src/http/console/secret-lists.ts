/** Pages of API keys and host tokens, and the refusal of one too many. */
import { z } from "zod";
import type { Uuid } from "../../base/ids.ts";
import { fault } from "../../faults.ts";
import { type SecretPosition, type SecretRecord, type Secrets, TooManyOpen } from "../../keys/keys.ts";
import { parseFields } from "../fields.ts";
import type { Cursors } from "../lists/cursors.ts";
import { PageFields, page } from "../lists/pages.ts";

export const SecretsQuery = z.object(PageFields);

/** Those that work, then those that were revoked, each the newest first. */
export function secretsPage(parts: {
  secrets: Secrets;
  cursors: Cursors;
  /** Which list it is: a cursor is good for one alone. */
  list: string;
  accountId: Uuid;
  query: URLSearchParams;
  show: (record: SecretRecord) => object;
}): Promise<object> {
  const { secrets, accountId, query, ...rest } = parts;
  const { cursor, limit } = parseFields(SecretsQuery, Object.fromEntries(query));
  return page({
    ...rest,
    cursor,
    limit,
    read: (after, max) => secrets.list(accountId, { after: positionFrom(after), limit: max }),
    position: ({ id, revokedAt }) => `${revokedAt === null ? "open" : "revoked"} ${id}`,
  });
}

function positionFrom(text: string | undefined): SecretPosition | undefined {
  if (text === undefined) return undefined;
  const [state, id] = text.split(" ");
  return { id: id as Uuid, revoked: state === "revoked" };
}

/** A new secret, or 409 with the bound in words. */
export async function issueSecret(
  secrets: Secrets,
  accountId: Uuid,
  name: string,
): Promise<{ id: Uuid; token: string }> {
  try {
    return await secrets.issue(accountId, name);
  } catch (cause) {
    if (!(cause instanceof TooManyOpen)) throw cause;
    throw fault("limit_reached", { message: cause.message, cause });
  }
}
