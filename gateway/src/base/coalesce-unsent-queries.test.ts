import assert from "node:assert/strict";
import { test } from "node:test";
import { coalesceUnsentQueries } from "./coalesce-unsent-queries.ts";

/** Questions that the test sends and answers when it chooses to. */
function openQuestions() {
  const share = coalesceUnsentQueries<number>();
  const asked: { send: () => void; answer: PromiseWithResolvers<number> }[] = [];
  const ask = (key: string): Promise<number> =>
    share(key, (send) => {
      const answer = Promise.withResolvers<number>();
      asked.push({ send, answer });
      return answer.promise;
    });
  return { ask, asked };
}

test("callers with the same key share one query and its result until the query is sent; later callers send a new one", async () => {
  const { ask, asked } = openQuestions();
  const [first, second, other] = [ask("a"), ask("a"), ask("b")];
  assert.equal(asked.length, 2);
  asked[0]?.send();
  const third = ask("a");
  assert.equal(asked.length, 3);
  asked.forEach(({ answer }, i) => {
    answer.resolve(i);
  });
  assert.deepEqual(await Promise.all([first, second, other, third]), [0, 0, 1, 2]);
});

test("a query that ends does not affect callers that share the next one", async () => {
  const { ask, asked } = openQuestions();
  const first = ask("a");
  asked[0]?.send();
  void ask("a");
  asked[0]?.answer.resolve(0);
  await first;
  void ask("a");
  assert.equal(asked.length, 2);
});

test("a query that fails rejects for all callers that share it, and the next caller sends a new one", async () => {
  const { ask, asked } = openQuestions();
  const shared = [ask("a"), ask("a")];
  asked[0]?.answer.reject(new Error("away"));
  for (const one of shared) await assert.rejects(one, /away/);
  void ask("a");
  assert.equal(asked.length, 2);
});

test("a query that is sent immediately is not shared with later callers", () => {
  const share = coalesceUnsentQueries<number>();
  let asked = 0;
  const ask = () =>
    share("a", async (sent) => {
      sent();
      return ++asked;
    });
  void ask();
  void ask();
  assert.equal(asked, 2);
});
