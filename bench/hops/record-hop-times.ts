/**
 * Records the time of every read and write of a gateway or an agent, and of the parsing of requests, in microseconds of
 * the machine's clock. Loaded into the process with `--import`. The product itself has no code for this, so a process
 * without this file pays nothing.
 */
import { appendFileSync } from "node:fs";
import { Server } from "node:http";
import { Server as NetServer, Socket } from "node:net";

/** The other end of a socket. */
export type SocketPeer = "client" | "database" | "plane" | "other";
/** A recorded event. `socket`: the first bytes of a request arrived; `parsed`: the request's body is parsed. */
export type HopEvent = `${"read" | "written"} ${SocketPeer}` | "socket" | "parsed";
export type RecordedMoment = [us: number, hop: HopEvent];

const FLUSH_EVERY_MS = 200;

const file = process.env["HOPS_FILE"];
if (file !== undefined) watch(file);

function watch(file: string): void {
  let moments: RecordedMoment[] = [];
  const note = (hop: HopEvent): void => {
    moments.push([Number(process.hrtime.bigint() / 1000n), hop]);
  };
  setInterval(() => {
    if (moments.length === 0) return;
    appendFileSync(file, moments.map((moment) => `${JSON.stringify(moment)}\n`).join(""));
    moments = [];
  }, FLUSH_EVERY_MS).unref();

  const peers = new WeakMap<Socket, SocketPeer>();
  const peerOf = (socket: Socket): SocketPeer => {
    const known = peers.get(socket);
    if (known !== undefined) return known;
    const { server, _handle: handle } = socket as unknown as {
      server?: unknown;
      _handle?: { constructor: { name: string } };
    };
    const isPipe = handle?.constructor.name === "Pipe";
    const peer =
      server instanceof Server ? "client" : isPipe ? "database" : server instanceof NetServer ? "plane" : "other";
    peers.set(socket, peer);
    return peer;
  };

  const sockets = Socket.prototype as unknown as Record<"_writeGeneric" | "push", (...given: unknown[]) => unknown>;
  const { _writeGeneric: write, push } = sockets;
  sockets._writeGeneric = function (this: Socket, ...given) {
    note(`written ${peerOf(this)}`);
    return write.apply(this, given);
  };
  sockets.push = function (this: Socket, ...given) {
    if (given[0] !== null) note(`read ${peerOf(this)}`);
    return push.apply(this, given);
  };
  const emit = Server.prototype.emit as (...given: unknown[]) => boolean;
  Server.prototype.emit = function (this: Server, event: string, ...given: unknown[]) {
    if (event === "request") note("socket");
    return emit.call(this, event, ...given);
  };
  const { parse } = JSON;
  JSON.parse = ((text: string, reviver?: Parameters<typeof parse>[1]) => {
    const value: unknown = parse(text, reviver);
    note("parsed");
    return value;
  }) as typeof parse;
}
