/**
 * What identifies a limits server: an ID that gateways write into it. Servers may forget everything when they restart, so a gateway that
 * saw the ID there writes it back; one that starts and finds none may only do so while no other gateway sees it elsewhere.
 */
import { Redis } from "ioredis";

const ANSWER_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

export interface ValkeyServer {
  /** Null where there is none. Rejects while the server cannot be reached. */
  readId(): Promise<string | null>;
  /** Writes this one unless there is one. Resolves with the one that is there. */
  claimId(id: string): Promise<string>;
  /** The fields of a section of INFO: `server`, `memory`, `replication`. */
  info(section: string): Promise<ReadonlyMap<string, string>>;
  close(): void;
}

export function openValkeyServer({ url, prefix = "tollgate" }: { url: string; prefix?: string }): ValkeyServer {
  const redis = new Redis(url.replace(/^valkey(s?):/, "redis$1:"), {
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_MS_MAX,
    commandTimeout: ANSWER_MS_MAX,
    retryStrategy: (attempt) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(attempt, 10)),
  });
  let lost: Error | undefined;
  redis.on("error", (error: Error) => {
    lost = error;
  });
  const key = `${prefix}:deployment`;
  /** Of a question that found no connection, the client only says that it gave up. */
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: Error) => {
      throw error.name === "MaxRetriesPerRequestError" && lost !== undefined ? lost : error;
    });
  return {
    readId: () => explained(redis.get(key)),
    async claimId(id) {
      await explained(redis.set(key, id, "NX"));
      return (await explained(redis.get(key))) ?? id;
    },
    async info(section) {
      const lines = (await explained(redis.info(section))).split(/\r?\n/).filter((line) => line.includes(":"));
      return new Map(lines.map((line) => line.split(/:(.*)/s).slice(0, 2) as [string, string]));
    },
    close: () => redis.disconnect(),
  };
}
