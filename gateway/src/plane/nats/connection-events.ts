/**
 * Reads the servers' events about the account's connections. Pure. The node is identified by the JWT that the server verified: our account
 * signed it, and its name is the node's id. (`name` is chosen by the client; `name_tag` is the JWT's name up to NATS 2.10, and the
 * account's since then.)
 */
import { z } from "zod";
import { readSegment } from "../credentials/jwt.ts";
import { isNodeId } from "../credentials/user-jwt.ts";
import { EVENT_CONNECT, EVENT_DISCONNECT } from "./subjects.ts";

const ClientEvent = z.object({
  server: z.object({ id: z.string() }),
  client: z.object({ id: z.number(), user: z.string(), jwt: z.string() }),
  /** The reason that a connection ended. */
  reason: z.string().optional(),
});
const UserClaims = z.object({ name: z.string(), sub: z.string() });

/** Reasons of the server itself: it stops, or its operator moves clients to another server. */
const SERVERS_OWN_REASONS = new Set(["Server Shutdown", "Kicked"]);

interface NodeEvent {
  kind: "connect" | "disconnect";
  nodeId: string;
  /** Tells it from every other connection of the cluster. */
  connection: string;
  /** The side that ended it. An end that a server only noticed, or a refusal, counts as the node's. */
  by: "node" | "plane";
}

const ServerAnswer = z.object({ server: z.object({ id: z.string() }) });

/** The server that sent this answer; undefined for other messages. */
export function readServer(payload: Uint8Array): string | undefined {
  return ServerAnswer.safeParse(readJson(payload)).data?.server.id;
}

/** The server of a connection. */
export const serverOf = (connection: string): string | undefined => connection.split(" ")[0];

/** Undefined for events that are not about a node. */
export function readEvent(subject: string, payload: Uint8Array): NodeEvent | undefined {
  const kind = subject === EVENT_CONNECT ? "connect" : subject === EVENT_DISCONNECT ? "disconnect" : undefined;
  const event = ClientEvent.safeParse(readJson(payload)).data;
  if (kind === undefined || event === undefined) return undefined;
  const { server, client, reason = "" } = event;
  const claims = UserClaims.safeParse(readSegment(client.jwt.split(".")[1])).data;
  if (claims === undefined || claims.sub !== client.user || !isNodeId(claims.name)) return undefined;
  const by = SERVERS_OWN_REASONS.has(reason) ? "plane" : "node";
  return { kind, nodeId: claims.name, connection: `${server.id} ${client.id}`, by };
}

function readJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString());
  } catch {
    return undefined; // No schema accepts it.
  }
}
