/** The audit log of operators' actions. An action is recorded before it runs, and completed with its outcome. */
import type { AUDIT_OUTCOMES } from "@tollgate/api/console/operator-audit.ts";
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { makeContainsPattern } from "./node-directory.ts";

interface OperatorAct {
  /** The operator's email address, or "command line". */
  operator: string;
  /** The action's code, for example `account.suspend` or `node.release`. */
  action: string;
  /** The public ID of the action's subject. */
  subject: string;
  details?: Record<string, unknown>;
}

const OperatorAction = row({
  id: column.uuid,
  at: column.moment,
  operator: z.string(),
  action: z.string(),
  subject: z.string(),
  details: column.json,
  /** `done`, the error code of a refusal, or `failed`; null while the action runs. */
  outcome: z.string().nullable(),
});
export type OperatorAction = z.infer<typeof OperatorAction>;

export interface AuditFilter {
  /** Part of the operator's email address. */
  operator?: string | undefined;
  action?: string | undefined;
  /** Matches all actions on any of these subjects. */
  subjects?: string[] | undefined;
  outcome?: (typeof AUDIT_OUTCOMES)[number] | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface Audit {
  /** Records the action and runs `act`. An error's code is recorded, and the error is thrown again. */
  record<T>(what: OperatorAct, act: () => Promise<T>): Promise<T>;
  /** Lists the actions, newest first. */
  list(page: AuditFilter & { before?: Uuid | undefined; limit: number }): Promise<OperatorAction[]>;
}

const OUTCOMES: Record<(typeof AUDIT_OUTCOMES)[number], string> = {
  done: "outcome = 'done'",
  failed: "outcome = 'failed'",
  refused: "outcome not in ('done', 'failed')",
  running: "outcome is null",
};

export function openAudit({ pool, newId }: { pool: pg.Pool; newId: NewId }): Audit {
  return {
    async record({ operator, action, subject, details = {} }, act) {
      const id = newId();
      await pool.query(
        "insert into operator_action (id, operator, action, subject, details) values ($1, $2, $3, $4, $5)",
        [id, operator, action, subject, details],
      );
      const end = (outcome: string) =>
        pool.query("update operator_action set outcome = $2 where id = $1", [id, outcome]);
      try {
        const result = await act();
        await end("done");
        return result;
      } catch (error) {
        await end((error as { code?: string }).code ?? "failed");
        throw error;
      }
    },
    list: ({ before, limit, operator, action, subjects, outcome, from, to }) =>
      queryRows(
        pool,
        OperatorAction,
        `select id, at, operator, action, subject, details, outcome from operator_action
          where ($1::uuid is null or id < $1) and ($3::text is null or operator ilike $3)
            and ($4::text is null or action = $4) and ($5::text[] is null or subject = any ($5))
            and ($6::timestamptz is null or at >= $6) and ($7::timestamptz is null or at < $7)
            and ${outcome === undefined ? "true" : OUTCOMES[outcome]}
          order by id desc limit $2`,
        [
          before ?? null,
          limit,
          makeContainsPattern(operator),
          action ?? null,
          subjects ?? null,
          from ?? null,
          to ?? null,
        ],
      ),
  };
}
