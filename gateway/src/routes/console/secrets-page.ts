/** Pages of API keys or host tokens: active ones first, then revoked ones, each newest first. */
import type { Uuid } from "../../base/ids.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { Cursors } from "../../http/lists/page-cursors.ts";
import type { SecretPageCursor, SecretRecord, SecretStore } from "../../keys/secret-store.ts";

export function readSecretsPage<Record extends SecretRecord, Shown>(parts: {
  secrets: SecretStore<Record>;
  cursors: Cursors;
  list: string;
  accountId: Uuid;
  query: { cursor?: string | undefined; limit: number };
  show: (record: Record) => Shown;
}) {
  const { secrets, accountId, ...rest } = parts;
  return listPage({
    ...rest,
    read: (after, max) => secrets.list(accountId, { after: positionFrom(after), limit: max }),
    position: ({ id, revokedAt }) => `${revokedAt === null ? "open" : "revoked"} ${id}`,
  });
}

function positionFrom(text: string | undefined): SecretPageCursor | undefined {
  if (text === undefined) return undefined;
  const [state, id] = text.split(" ");
  return { id: id as Uuid, revoked: state === "revoked" };
}
