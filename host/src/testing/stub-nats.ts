/** Test helper: the part of a NATS server that one client needs. It distinguishes clients by their JWT. */

import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

/** A user seed (private key) in the right format. The stub does not check signatures. */
export const NATS_USER_SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

export interface StubNats {
  url: string;
  published: { subject: string; text: string }[];
  clients: Set<Socket>;
  names: string[];
  /** The JWTs that the stub refuses. */
  refused: Set<string>;
  deliver(subject: string, payload: string): void;
  /** Runs after every client operation. */
  changed: () => void;
}

export async function stubNats(t: TestContext): Promise<StubNats> {
  const subscriptions: { socket: Socket; subject: string; sid: string }[] = [];
  const server = createServer((socket) => serve(stub, socket, subscriptions));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stub: StubNats = {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    published: [],
    clients: new Set(),
    names: [],
    refused: new Set(),
    deliver(subject, payload) {
      for (const { socket, subject: wanted, sid } of subscriptions)
        if (wanted === subject) socket.write(`MSG ${subject} ${sid} ${payload.length}\r\n${payload}\r\n`, "latin1");
    },
    changed: () => {},
  };
  t.after(() => {
    for (const socket of stub.clients) socket.destroy();
    server.close();
  });
  return stub;
}

function serve(
  stub: StubNats,
  socket: Socket,
  subscriptions: { socket: Socket; subject: string; sid: string }[],
): void {
  stub.clients.add(socket);
  socket.setEncoding("latin1");
  socket.on("error", () => {});
  socket.on("close", () => {
    stub.clients.delete(socket);
    stub.changed();
  });
  const info = { server_id: "stub", version: "2.10.0", go: "", host: "", port: 0, max_payload: 1048576, proto: 1 };
  socket.write(`INFO ${JSON.stringify({ ...info, headers: true, auth_required: true, nonce: "abc" })}\r\n`);
  let buffer = "";
  socket.on("data", (chunk) => {
    buffer += chunk;
    for (let used = operation(buffer); used > 0; used = operation(buffer)) buffer = buffer.slice(used);
    stub.changed();
  });

  /** Handles one operation at the start of `text`. Returns its length, or 0 if it is incomplete. */
  const operation = (text: string): number => {
    const end = text.indexOf("\r\n");
    if (end === -1) return 0;
    const [verb, ...words] = text.slice(0, end).split(" ");
    if (verb === "PUB") {
      const length = Number(words.at(-1));
      if (text.length < end + 4 + length) return 0;
      stub.published.push({ subject: words[0] ?? "", text: text.slice(end + 2, end + 2 + length) });
      return end + 4 + length;
    }
    if (verb === "CONNECT") connected(JSON.parse(text.slice(8, end)));
    if (verb === "PING") socket.write("PONG\r\n");
    if (verb === "SUB") subscriptions.push({ socket, subject: words[0] ?? "", sid: words.at(-1) ?? "" });
    return end + 2;
  };
  const connected = (options: { jwt?: string; name?: string; sig?: string }): void => {
    if (options.sig === undefined || stub.refused.has(options.jwt ?? ""))
      socket.end("-ERR 'Authorization Violation'\r\n");
    else stub.names.push(options.name ?? "");
  };
}
