/** What the servers tell of the account's connections. Pure. */
import { z } from "zod";
import { isNodeId } from "../credentials/user-jwt.ts";
import { EVENT_CONNECT, EVENT_DISCONNECT } from "./subjects.ts";

const ClientEvent = z.object({
  server: z.object({ id: z.string() }),
  /** `name_tag` is the name in the client's JWT, which we signed; its `name` is whatever it calls itself. */
  client: z.object({ id: z.number(), name_tag: z.string() }),
});

interface NodeEvent {
  kind: "connect" | "disconnect";
  nodeId: string;
  /** Tells it from every other connection of the cluster. */
  connection: string;
}

/** Undefined for events that are not about a node. */
export function readEvent(subject: string, payload: Uint8Array): NodeEvent | undefined {
  const kind = subject === EVENT_CONNECT ? "connect" : subject === EVENT_DISCONNECT ? "disconnect" : undefined;
  const event = ClientEvent.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
  if (kind === undefined || event === undefined || !isNodeId(event.client.name_tag)) return undefined;
  return { kind, nodeId: event.client.name_tag, connection: `${event.server.id} ${event.client.id}` };
}
