import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { UnreachableError } from "../base/dependency.ts";
import { captureDatabaseErrors } from "./database-error-capture.ts";

const AWAY = new UnreachableError("database", "x");
const BUG = Object.assign(new Error("x"), { code: "23505" });

/** Creates a pool whose queries fail with the given error. */
function openPool(failure: () => Error | undefined) {
  const asked = <T>(answer: T): Promise<T> => {
    const error = failure();
    return error === undefined ? Promise.resolve(answer) : Promise.reject(error);
  };
  const client = { query: () => asked({ rows: [] }), release: () => {} };
  return { connect: async () => client } as unknown as pg.Pool;
}

/** Imitates the sign-in library, which answers a database error with its own error. */
const answered = async (pool: pg.Pool): Promise<{ status: number }> => {
  try {
    const client = await pool.connect();
    await client.query("select 1", []);
    return { status: 200 };
  } catch {
    return { status: 500 };
  }
};
const isFailure = ({ status }: { status: number }): boolean => status >= 400;

test("a database error inside the sign-in library is rethrown, whether the library returned or threw", async () => {
  const witness = captureDatabaseErrors(openPool(() => AWAY));
  await assert.rejects(
    witness.ask(() => answered(witness.pool), { isFailure }),
    (error) => error === AWAY,
  );
  const thrown = witness.ask(async () => {
    if (isFailure(await answered(witness.pool))) throw new Error("could not get the session");
  });
  await assert.rejects(thrown, (error) => error === AWAY);
});

test("the library's own response to a query that the database refused is returned; concurrent calls do not mix errors", async () => {
  const witness = captureDatabaseErrors(openPool(() => BUG));
  assert.deepEqual(await witness.ask(() => answered(witness.pool), { isFailure }), { status: 500 });

  const troubles = [AWAY, undefined];
  const other = captureDatabaseErrors(openPool(() => troubles.shift()));
  const [troubled, well] = [0, 1].map(() => other.ask(() => answered(other.pool), { isFailure }));
  await assert.rejects(troubled as Promise<unknown>, (error) => error === AWAY);
  assert.deepEqual(await well, { status: 200 });
});

test("the caller's onSent callback runs when the sign-in library sends its first query", async () => {
  const witness = captureDatabaseErrors(openPool(() => undefined));
  const told: string[] = [];
  const question = async (): Promise<void> => {
    told.push("asked");
    await answered(witness.pool);
  };
  await witness.ask(question, { onSent: () => told.push("sent") });
  assert.deepEqual(told, ["asked", "sent"]);
  await witness.ask(async () => undefined, { onSent: () => assert.fail("it asked nothing") });
});
