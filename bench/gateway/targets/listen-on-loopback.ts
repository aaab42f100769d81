/** Loaded with `node --import` before a program without an address setting: makes it listen on loopback only. */
import { Server } from "node:net";

const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;

Server.prototype.listen = function onLoopback(this: Server, ...args: unknown[]): Server {
  const [where, host] = args;
  if (typeof where === "number" && typeof host !== "string")
    return listen.call(this, where, "127.0.0.1", ...args.slice(1));
  if (typeof where === "object" && where !== null && "port" in where && !("host" in where && where.host)) {
    return listen.call(this, { ...where, host: "127.0.0.1" }, ...args.slice(1));
  }
  return listen.apply(this, args);
} as typeof Server.prototype.listen;
