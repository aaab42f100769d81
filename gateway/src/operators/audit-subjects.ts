/** Finds names for the IDs in the audit log. */
import type pg from "pg";
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../base/ids.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { AuditFilter } from "./audit.ts";

interface Subject {
  name: string;
  /** The account that owns the key or node. */
  account: { id: Uuid; name: string } | null;
}

export interface AuditSubjects {
  /** The names by public ID. Deleted and unknown IDs are omitted. */
  named(ids: string[]): Promise<Map<string, Subject>>;
  /** The public IDs of an account and of its newest keys and nodes. */
  ofAccount(accountId: Uuid): Promise<string[]>;
}

const Named = row({
  id: column.uuid,
  name: z.string(),
  accountId: column.uuid.nullable(),
  accountName: z.string().nullable(),
});
const Id = row({ id: column.uuid });

const OF_ACCOUNT_MAX = 1_000;

/** The queries for names, by the prefix of the ID. */
const NAMES = {
  acc: `select id, name, null::uuid as "accountId", null::text as "accountName" from account where id = any ($1::uuid[])`,
  key: named("api_key"),
  node: named("node"),
  pay: `select id, note as name, null::uuid as "accountId", null::text as "accountName" from payout_batch
         where id = any ($1::uuid[]) and note <> ''`,
} as const;
type Prefix = keyof typeof NAMES;

function named(table: string): string {
  return `select t.id, t.name, a.id as "accountId", a.name as "accountName" from ${table} t
            join account a on a.id = t.account_id where t.id = any ($1::uuid[])`;
}

export function openAuditSubjects({ pool }: { pool: pg.Pool }): AuditSubjects {
  const namesOf = async (prefix: Prefix, texts: string[]): Promise<[string, Subject][]> => {
    const ids = texts.flatMap((text) => parseId(prefix, text) ?? []);
    if (ids.length === 0) return [];
    const rows = await queryRows(pool, Named, NAMES[prefix], [ids]);
    return rows.map(({ id, name, accountId, accountName }) => {
      const account = accountId === null || accountName === null ? null : { id: accountId, name: accountName };
      return [publicId(prefix, id), { name, account }];
    });
  };
  const newest = async (prefix: "key" | "node", table: string, accountId: Uuid): Promise<string[]> => {
    const text = `select id from ${table} where account_id = $1 order by id desc limit ${OF_ACCOUNT_MAX}`;
    return (await queryRows(pool, Id, text, [accountId])).map(({ id }) => publicId(prefix, id));
  };
  return {
    async named(ids) {
      const texts = [...new Set(ids)];
      const found = await Promise.all((Object.keys(NAMES) as Prefix[]).map((prefix) => namesOf(prefix, texts)));
      return new Map(found.flat());
    },
    async ofAccount(accountId) {
      const [keys, nodes] = await Promise.all([newest("key", "api_key", accountId), newest("node", "node", accountId)]);
      return [publicId("acc", accountId), ...keys, ...nodes];
    },
  };
}

/** A filter of the audit log as the API receives it: by one subject, or by an account with its keys and nodes. */
interface AskedFilter extends Omit<AuditFilter, "subjects"> {
  subject?: string | undefined;
  /** The account's public ID, `acc_…`. */
  account?: string | undefined;
}

export async function resolveAuditFilter(subjects: AuditSubjects, asked: AskedFilter): Promise<AuditFilter> {
  const { subject, account, ...rest } = asked;
  const accountId = account === undefined ? undefined : parseId("acc", account);
  const ofAccount = accountId === undefined ? undefined : await subjects.ofAccount(accountId);
  const both = subject === undefined ? ofAccount : (ofAccount ?? [subject]).filter((one) => one === subject);
  return { ...rest, subjects: both };
}
