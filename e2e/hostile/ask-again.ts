/** Asking as the official clients do: again, where the answer tells them to. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** The first, and the two more that the official clients make. */
const TRIES_MAX = 3;

/** What a platform that cannot do it at the moment answers is read and left; the last answer counts, and how many it took. */
export async function askAgain(ask: () => Promise<Response>): Promise<{ answer: Response; tries: number }> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (answer.status !== 503 || tries === TRIES_MAX) return { answer, tries };
    assert.equal(answer.headers.get("x-should-retry"), "true");
    await answer.text();
    await sleep(1_000 * Number(answer.headers.get("retry-after")));
  }
}
