/**
 * Parses the servers' events about the account's connections. Pure. The node is identified by the JWT that the server
 * verified: our account signed it, and its name is the node's ID. (The client chooses `name`. Up to NATS 2.10
 * `name_tag` is the name in the JWT; later it is the account's.)
 */
import { z } from "zod";
import { readSegment } from "../credentials/jwt.ts";
import { isNodeId } from "../credentials/user-jwt.ts";
import { CONNECT_EVENT_SUBJECT, DISCONNECT_EVENT_SUBJECT } from "./subjects.ts";

const ClientEvent = z.object({
  server: z.object({ id: z.string() }),
  client: z.object({ id: z.number(), user: z.string(), jwt: z.string() }),
  /** Why the connection ended. */
  reason: z.string().optional(),
});
const UserClaims = z.object({ name: z.string(), sub: z.string() });

/**
 * The reasons that a NATS server gives when it ends a connection itself: it stops, or its operator moves clients to
 * another server.
 */
const SERVERS_OWN_REASONS = new Set(["Server Shutdown", "Kicked"]);

interface NodeEvent {
  kind: "connect" | "disconnect";
  nodeId: string;
  /** Identifies the connection within the cluster. */
  connection: string;
  /**
   * Who ended the connection. "plane": the server stopped, or its operator moved the client to another server. "node":
   * all other cases, also if the server only noticed that the connection was lost, or refused the client.
   */
  by: "node" | "plane";
}

const ServerAnswer = z.object({ server: z.object({ id: z.string() }) });

/** Returns the server that sent this answer to a ping, or undefined for other messages. */
export function readServerIdOfPing(payload: Uint8Array): string | undefined {
  return ServerAnswer.safeParse(readJson(payload)).data?.server.id;
}

/** The server of a connection, from the connection's identifier. */
export const parseServerId = (connection: string): string | undefined => connection.split(" ")[0];

/** Returns undefined for events that are not about a node. */
export function readNodeEvent(subject: string, payload: Uint8Array): NodeEvent | undefined {
  const kind =
    subject === CONNECT_EVENT_SUBJECT ? "connect" : subject === DISCONNECT_EVENT_SUBJECT ? "disconnect" : undefined;
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
    return undefined; // Not JSON: returns undefined, which every schema refuses.
  }
}
