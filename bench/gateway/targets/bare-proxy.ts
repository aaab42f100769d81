/** A proxy that only relays bytes, to show what relaying costs on Node. Its argument is the engine's port. */
import { Agent, request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";

const enginePort = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxFreeSockets: 1024 });

const server = createServer((request, response) => {
  const { connection: _connection, host: _host, ...headers } = request.headers;
  const options = { host: "127.0.0.1", port: enginePort, method: request.method, path: request.url, headers, agent };
  const upstream = ask(options, (answer) => {
    const { connection: _close, "keep-alive": _keepAlive, ...passed } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, passed);
    if (passed["content-length"] === undefined) response.flushHeaders();
    answer.pipe(response);
  });
  upstream.on("error", () => {
    if (!response.headersSent) response.writeHead(502);
    response.end();
  });
  response.on("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);
});
Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0 });
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.send?.({ type: "listening", port: (server.address() as AddressInfo).port });
});
process.on("disconnect", () => process.exit(0));
