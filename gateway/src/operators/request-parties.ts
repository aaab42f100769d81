/** Finds a request's builder, its node, and the host's share, for operators. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { WITHHELD_REASONS } from "../base/stored-enumerations.ts";
import { column, queryRow, row } from "../db/rows.ts";

const RequestParties = row({
  accountId: column.uuid,
  accountName: z.string(),
  nodeName: z.string().nullable(),
  hostId: column.uuid.nullable(),
  hostName: z.string().nullable(),
  withheld: column.pico.nullable(),
  withheldReason: z.enum(WITHHELD_REASONS).nullable(),
});
export type RequestParties = z.infer<typeof RequestParties>;

export type FindRequestParties = (requestId: Uuid) => Promise<RequestParties | undefined>;

export const createRequestPartiesQuery =
  ({ pool }: { pool: pg.Pool }): FindRequestParties =>
  (requestId) =>
    queryRow(
      pool,
      RequestParties,
      `select a.id as "accountId", a.name as "accountName", n.name as "nodeName", h.id as "hostId", h.name as "hostName",
              w.amount_pico as withheld, w.reason as "withheldReason"
         from request r join account a on a.id = r.account_id
         left join node n on n.id = r.node_id
         left join account h on h.id = coalesce(r.host_account_id, n.account_id)
         left join withheld_share w on w.request_id = r.id and w.taken_by is null
        where r.id = $1`,
      [requestId],
    );
