/**
 * Clients that keep streams open, in a process of their own. They use raw sockets that share one buffer, and parse only
 * the ends of events, timestamps and the closing marker.
 */
import { connect, type Socket } from "node:net";
import { nowUs } from "../gateway/process-resource-usage.ts";
import { type TimeWindowFigures, WORD_INTERVAL_MS } from "./shared-types.ts";

/** The maximum number of unanswered requests while streams are opened: more would only wait in a queue. */
const OPENING_MAX = 64;
const LATE = 1.05;
const EVENT_END = Buffer.from("\n\n");
const STAMP = Buffer.from('" @');
const DONE = Buffer.from("[DONE]");
const FAULT = Buffer.from('"error":');
const QUOTE = 34;
const BUFFER_BYTES = 64 * 1024;

interface Stream {
  socket: Socket;
  status: number;
  isDone: boolean;
  /** The number of events within the measured window. */
  events: number;
  firstAt: number;
  lastAt: number;
}

const streams = new Set<Stream>();
const errors: Record<string, number> = {};
const relayed: number[] = [];
const shared = Buffer.alloc(BUFFER_BYTES);
let request = Buffer.alloc(0);
let port = 0;
let wanted = 0;
let opening = 0;

function failed(what: string): void {
  errors[what] = (errors[what] ?? 0) + 1;
}

function open(): void {
  while (opening < OPENING_MAX && streams.size < wanted) {
    opening += 1;
    const callback = (bytes: number): boolean => {
      read(stream, shared.subarray(0, bytes));
      return true;
    };
    const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer: shared, callback } });
    const stream: Stream = { socket, status: 0, isDone: false, events: 0, firstAt: 0, lastAt: 0 };
    streams.add(stream);
    socket.on("connect", () => socket.write(request));
    socket.on("error", (error) => failed(error.message));
    socket.on("close", () => {
      if (stream.status === 0) answered(0);
      else if (!stream.isDone) failed("it broke off");
      streams.delete(stream);
      if (streams.size === 0) process.send?.({ type: "closed", errors });
    });
  }
}

function answered(status: number): void {
  opening -= 1;
  if (status !== 200) failed(`status ${status}`);
  if (opening === 0 && streams.size >= wanted) process.send?.({ type: "opened" });
  open();
}

function read(stream: Stream, bytes: Buffer): void {
  if (stream.status === 0) {
    stream.status = Number(bytes.toString("latin1", 9, 12));
    answered(stream.status);
  }
  const now = performance.now();
  for (let i = bytes.indexOf(EVENT_END); i >= 0; i = bytes.indexOf(EVENT_END, i + 2)) {
    if (stream.events === 0) stream.firstAt = now;
    stream.events += 1;
    stream.lastAt = now;
  }
  const stamp = bytes.indexOf(STAMP);
  if (stamp >= 0) {
    const end = bytes.indexOf(QUOTE, stamp + STAMP.length);
    const saidUs = Number.parseInt(bytes.toString("latin1", stamp + STAMP.length, end), 36);
    if (end > 0) relayed.push((nowUs() - saidUs) / 1000);
  }
  if (bytes.includes(FAULT)) failed(/"code":"(\w+)"/.exec(bytes.toString("latin1"))?.[1] ?? "an error event");
  if (bytes.includes(DONE)) {
    stream.isDone = true;
    stream.socket.end();
  }
}

function beginWindow(): void {
  relayed.length = 0;
  for (const stream of streams) stream.events = 0;
}

function look(): TimeWindowFigures {
  const all = [...streams];
  const counted = all.filter(({ events }) => events > 1);
  if (counted.length < all.length) errors["silent in the window"] = all.length - counted.length;
  const over = counted.map(({ events, firstAt, lastAt }) => (lastAt - firstAt) / ((events - 1) * WORD_INTERVAL_MS));
  const paces = over.sort((a, b) => a - b);
  const times = relayed.sort((a, b) => a - b);
  const at = (sorted: number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
  return {
    streams: all.length,
    events: all.reduce((sum, { events }) => sum + events, 0),
    overPace: {
      median: at(paces, 0.5),
      p99: at(paces, 0.99),
      max: at(paces, 1),
      late: paces.filter((each) => each > LATE).length,
    },
    relayMs: { p50: at(times, 0.5), p99: at(times, 0.99), max: at(times, 1) },
    errors,
  };
}

process.on("message", (message: { type: string; port: number; request: string; count: number }) => {
  if (message.type === "open") {
    request = Buffer.from(message.request);
    port = message.port;
    wanted = message.count;
    open();
  } else if (message.type === "begin") beginWindow();
  else if (message.type === "look") process.send?.({ type: "seen", seen: look() });
});
process.on("disconnect", () => process.exit(0));
