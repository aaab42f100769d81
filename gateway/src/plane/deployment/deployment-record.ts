/**
 * The deployment to which a database belongs, as stored in it. A copy of the database has the same record, but a mark
 * that is written after copying exists in only one of the two.
 */
import type pg from "pg";
import type { z } from "zod";
import type { NewId, Uuid } from "../../base/ids.ts";
import { countConnectedGateways } from "../../db/connected-programs.ts";
import { column, queryOne, queryRow, row } from "../../db/rows.ts";

const Deployment = row({
  id: column.uuid,
  createdAt: column.moment,
  /** The deployment from which this one was copied, and the time. */
  forkedFrom: column.uuid.nullable(),
  forkedAt: column.moment.nullable(),
});
export type Deployment = z.infer<typeof Deployment>;

const Id = row({ id: column.uuid });
const Count = row({ count: column.count });
const COLUMNS = `id, created_at as "createdAt", forked_from as "forkedFrom", forked_at as "forkedAt"`;
/**
 * How long marks are kept. A gateway writes a mark into its database, and other gateways look for it within seconds, to
 * learn whether they use the same database.
 */
const MARKS_FOR = "1 hour";

export interface DeploymentRecord {
  read(): Promise<Deployment>;
  /** Writes a mark that exists in no other database. */
  mark(): Promise<Uuid>;
  hasMark(mark: string): Promise<boolean>;
  /** The number of gateways connected to the database, and of requests in flight. */
  inUse(): Promise<{ gateways: number; requests: number }>;
  /** Gives the database a new deployment ID. */
  fork(): Promise<Deployment>;
}

export function openDeploymentRecord({ pool, newId }: { pool: pg.Pool; newId: NewId }): DeploymentRecord {
  return {
    read: () => queryOne(pool, Deployment, `select ${COLUMNS} from deployment`),
    async mark() {
      await pool.query(`delete from deployment_mark where made_at < now() - interval '${MARKS_FOR}'`);
      return (await queryOne(pool, Id, "insert into deployment_mark (id) values ($1) returning id", [newId()])).id;
    },
    async hasMark(mark) {
      return (await queryRow(pool, Id, "select id from deployment_mark where id = $1", [mark])) !== undefined;
    },
    async inUse() {
      return {
        gateways: await countConnectedGateways(pool),
        requests: (await queryOne(pool, Count, "select count(*)::int as count from hold where expires_at > now()"))
          .count,
      };
    },
    fork: () =>
      queryOne(
        pool,
        Deployment,
        `update deployment set id = gen_random_uuid(), forked_from = id, forked_at = now() returning ${COLUMNS}`,
      ),
  };
}
