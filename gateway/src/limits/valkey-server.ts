/**
 * Identifies a limits server by an ID that gateways store in it. A server may lose its data in a restart. A gateway that saw the ID before
 * then writes it back; a starting gateway may write a new one only if no other gateway sees an ID on another server.
 */
import { Redis } from "ioredis";

const ANSWER_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

export interface ValkeyServer {
  /** Null if the server has none. Rejects if it is unreachable. */
  readId(): Promise<string | null>;
  /** Stores this ID unless one exists. Resolves with the stored one. */
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
  /** The client only reports that it gave up; this adds the reason. */
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
