/** Test helper: an HTTP server on a free loopback port. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface StubRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type StubHandler = (request: StubRequest, response: ServerResponse) => void;

/** Starts a server that stops when the test ends. Returns its address. */
export async function stubServer(t: TestContext, answer: StubHandler): Promise<string> {
  return (await restartableServer(t, answer)).url;
}

interface RestartableServer {
  url: string;
  /** Breaks every connection, as if the process was killed. */
  stop(): Promise<void>;
  /** Starts again at the same address. */
  start(): Promise<void>;
}

export async function restartableServer(t: TestContext, answer: StubHandler): Promise<RestartableServer> {
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      answer({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body }, response);
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  t.after(stop);
  return {
    url: `http://127.0.0.1:${port}`,
    stop,
    async start() {
      server = await listen(port);
    },
  };
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** Returns an address at which no server listens. */
export async function unusedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
