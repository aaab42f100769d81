/**
 * Records database errors during calls of better-auth, the sign-in library. The library turns them into failures of its
 * own or even refusals, but an outage must be reported as such.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import { isRetryableDatabaseError } from "../db/errors.ts";

interface Asking<T> {
  isFailure?: (answer: T) => boolean;
  /** Called when the library sends its first query. */
  onSent?: () => void;
}

export interface DatabaseErrorCapture {
  /** The database pool that the library must use. */
  pool: pg.Pool;
  /** Runs a call of the library. Rejects with the database's error if there was one. */
  ask<T>(question: () => Promise<T>, more?: Asking<T>): Promise<T>;
}

export function captureDatabaseErrors(pool: pg.Pool): DatabaseErrorCapture {
  const heard = new AsyncLocalStorage<{ trouble?: unknown; onSent: () => void }>();
  const listen = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      const noted = heard.getStore();
      if (noted !== undefined && isRetryableDatabaseError(error)) noted.trouble ??= error;
      throw error;
    }
  };
  const connect = async (): Promise<pg.PoolClient> => {
    heard.getStore()?.onSent();
    return replaceMethod(
      await listen(pool.connect()),
      "query",
      (client) => (text: string, values: unknown[]) => listen(client.query(text, values)),
    );
  };
  return {
    pool: replaceMethod(pool, "connect", () => connect),
    async ask(question, { isFailure = () => false, onSent = () => {} } = {}) {
      const noted: { trouble?: unknown; onSent: () => void } = { onSent };
      try {
        const answer = await heard.run(noted, question);
        if (noted.trouble !== undefined && isFailure(answer)) throw noted.trouble;
        return answer;
      } catch (error) {
        throw noted.trouble ?? error;
      }
    },
  };
}

/** Returns a copy of `target` with one method replaced. */
export function replaceMethod<T extends object>(target: T, method: keyof T, replacement: (target: T) => unknown): T {
  const own = replacement(target);
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === method) return own;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
