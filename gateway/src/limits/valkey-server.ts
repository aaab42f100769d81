/**
 * Identifies a limits server by an ID that gateways store in it. The server may lose its data, with the ID, in a
 * restart. A gateway that has read the ID before writes it back. A starting gateway cannot know whether a server
 * without an ID is that server or another one. So it writes an ID only if no running gateway reports a server with an
 * ID.
 */
import { Redis } from "ioredis";

const ANSWER_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

/** The key that contains the server's ID. */
const ID_KEY = "tollgate:deployment";

export interface ValkeyServer {
  /** Reads the server's ID. Null if it has none. Rejects if the server is unreachable. */
  readId(): Promise<string | null>;
  /** Stores this ID unless the server has one. Resolves with the stored ID. */
  claimId(id: string): Promise<string>;
  /** Reads the fields of a section of the command INFO: `server`, `memory`, `replication`. */
  info(section: string): Promise<ReadonlyMap<string, string>>;
  close(): void;
}

export function openValkeyServer(url: string): ValkeyServer {
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
  /** Adds the connection's error, because the client only reports that it stopped trying. */
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: Error) => {
      throw error.name === "MaxRetriesPerRequestError" && lost !== undefined ? lost : error;
    });
  return {
    readId: () => explained(redis.get(ID_KEY)),
    async claimId(id) {
      await explained(redis.set(ID_KEY, id, "NX"));
      return (await explained(redis.get(ID_KEY))) ?? id;
    },
    async info(section) {
      const lines = (await explained(redis.info(section))).split(/\r?\n/).filter((line) => line.includes(":"));
      return new Map(lines.map((line) => line.split(/:(.*)/s).slice(0, 2) as [string, string]));
    },
    close: () => redis.disconnect(),
  };
}
