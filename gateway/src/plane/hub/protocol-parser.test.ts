import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { HUB_LIMITS } from "./hub-limits.ts";
import { NatsProtocolParser, ProtocolViolation } from "./protocol-parser.ts";

type Seen = (string | number | undefined)[];

function record(): { seen: Seen[]; parser: NatsProtocolParser } {
  const seen: Seen[] = [];
  const parser = new NatsProtocolParser(HUB_LIMITS, {
    connect: (options) => seen.push(["connect", options.trim()]),
    publish: (subject, payload) => seen.push(["publish", subject, Buffer.from(payload).toString("latin1")]),
    subscribe: ({ pattern, queue, sid }) => seen.push(["subscribe", pattern, queue, sid]),
    unsubscribe: (sid, max) => seen.push(["unsubscribe", sid, max]),
    ping: () => seen.push(["ping"]),
    pong: () => seen.push(["pong"]),
  });
  return { seen, parser };
}

function violationOf(...texts: string[]): string {
  const { parser } = record();
  try {
    for (const text of texts) parser.push(Buffer.from(text, "latin1"));
  } catch (error) {
    assert.ok(error instanceof ProtocolViolation);
    return error.code;
  }
  return "none";
}

const CONNECT = "CONNECT {}\r\n";
const name = fc.stringMatching(/^[a-z.*>0-9]{1,12}$/);
const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const number = fc.nat({ max: 9999 });

/** Generates protocol text and the operation that the parser should return for it. */
const operation: fc.Arbitrary<[string, Seen]> = fc.oneof(
  fc.tuple(name, body).map(([s, p]): [string, Seen] => [`PUB ${s} ${p.length}\r\n${p}\r\n`, ["publish", s, p]]),
  fc
    .tuple(name, name, body)
    .map(([s, reply, p]): [string, Seen] => [`pub  ${s} ${reply}  ${p.length}\r\n${p}\r\n`, ["publish", s, p]]),
  fc
    .tuple(name, body, body)
    .map(([s, h, p]): [string, Seen] => [
      `HPUB ${s} ${h.length} ${h.length + p.length}\r\n${h}${p}\r\n`,
      ["publish", s, p],
    ]),
  fc
    .tuple(name, number)
    .map(([s, sid]): [string, Seen] => [`SUB ${s} ${sid}\r\n`, ["subscribe", s, undefined, `${sid}`]]),
  fc
    .tuple(name, name, number)
    .map(([s, q, sid]): [string, Seen] => [`SUB ${s} ${q} ${sid}\r\n`, ["subscribe", s, q, `${sid}`]]),
  number.map((sid): [string, Seen] => [`UNSUB ${sid}\r\n`, ["unsubscribe", `${sid}`, undefined]]),
  fc
    .tuple(number, number)
    .map(([sid, max]): [string, Seen] => [`UNSUB ${sid} ${max}\r\n`, ["unsubscribe", `${sid}`, max]]),
  fc.constantFrom<[string, Seen]>(["PING\r\n", ["ping"]], ["ping\n", ["ping"]], ["PONG\r\n", ["pong"]]),
);

describe("the parser of the NATS protocol", () => {
  test("returns the same operations however the input is split into chunks", () => {
    const conversation = fc.tuple(fc.array(operation, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 200 })));
    fc.assert(
      fc.property(conversation, ([operations, sizes]) => {
        const wire = Buffer.from(CONNECT + operations.map(([text]) => text).join(""), "latin1");
        const { seen, parser } = record();
        let counted = 0;
        let at = 0;
        for (const size of [...sizes, wire.length]) {
          counted += parser.push(wire.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(seen, [["connect", "{}"], ...operations.map(([, expected]) => expected)]);
        assert.ok(counted >= seen.length);
      }),
    );
  });

  test("parses operations from input that arrives one byte at a time", () => {
    const { seen, parser } = record();
    for (const byte of Buffer.from(`${CONNECT}PUB a 5\r\nhe\r\no\r\nPING\r\n`)) parser.push(Buffer.of(byte));
    assert.deepEqual(seen, [["connect", "{}"], ["publish", "a", "he\r\no"], ["ping"]]);
  });

  test("either parses any input or reports a protocol violation", () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom("PUB a ", "HPUB ", "SUB", "UNSUB 1 ", " 5\r\n", "\r\n", "PING", "-1", "5 ")
        .map((s) => Buffer.from(s)),
    );
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 20 }), (chunks) => {
        const { parser } = record();
        parser.push(Buffer.from(CONNECT));
        try {
          for (const each of chunks) parser.push(each);
        } catch (error) {
          assert.ok(error instanceof ProtocolViolation);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("does not copy a payload that is within one chunk", () => {
    const wire = Buffer.from(`${CONNECT}PUB a 5\r\nhello\r\n`);
    let same = false;
    const parser = new NatsProtocolParser(HUB_LIMITS, {
      connect: () => {},
      publish: (_, payload) => {
        same = payload.buffer === wire.buffer;
      },
      subscribe: () => {},
      unsubscribe: () => {},
      ping: () => {},
      pong: () => {},
    });
    parser.push(wire);
    assert.ok(same);
  });

  test("accepts CONNECT first and only once", () => {
    for (const text of ["PING\r\n", "PUB a 1\r\nx\r\n", "SUB a 1\r\n", "\r\n", "GET / HTTP/1.1\r\n", "{}\n"]) {
      assert.equal(violationOf(text), "connect_first", text);
    }
    assert.equal(violationOf(CONNECT, CONNECT), "unknown_operation");
  });

  test("reports each kind of violation", () => {
    const table: [string, string][] = [
      ["BOGUS\r\n", "unknown_operation"],
      ["\r\n", "unknown_operation"],
      ["+OK\r\n", "unknown_operation"],
      ["PUB\r\n", "malformed"],
      ["PUB a\r\n", "malformed"],
      ["PUB a b c 1\r\n", "malformed"],
      ["PUB a -1\r\n", "malformed"],
      ["PUB a 1e3\r\n", "malformed"],
      ["PUB a 0x10\r\n", "malformed"],
      ["PUB a 99999999999999999999\r\n", "malformed"],
      ["PUB a 1\r\nxy\r\n", "malformed"],
      ["PUB a 1\r\nx\n\n", "malformed"],
      ["HPUB a 5\r\n", "malformed"],
      ["HPUB a 5 4\r\n", "malformed"],
      ["SUB a\r\n", "malformed"],
      ["SUB a b c d\r\n", "malformed"],
      ["UNSUB\r\n", "malformed"],
      ["UNSUB 1 x\r\n", "malformed"],
      [`PUB a ${HUB_LIMITS.payloadBytesMax}\r\n`, "none"],
      [`PUB a ${HUB_LIMITS.payloadBytesMax + 1}\r\n`, "payload_too_large"],
      ["PUB a 999999999\r\n", "payload_too_large"],
      [`PUB ${"a".repeat(4084)} 1\r\n`, "none"],
      [`PUB ${"a".repeat(4096)} 1\r\n`, "line_too_long"],
      ["x".repeat(4097), "line_too_long"],
    ];
    for (const [text, code] of table) assert.equal(violationOf(CONNECT, text), code, text.slice(0, 40));
  });

  test("refuses a long line however slowly it arrives, but allows a longer CONNECT line", () => {
    const drip = Array.from({ length: 5000 }, () => "x");
    assert.equal(violationOf(CONNECT, ...drip), "line_too_long");
    assert.equal(violationOf(`CONNECT {"jwt":"${"x".repeat(10_000)}"}\r\n`, "PING\r\n"), "none");
    assert.equal(violationOf(...Array.from({ length: 17 }, () => "x".repeat(1024))), "line_too_long");
  });

  test("lets a credential lower the payload limit but not raise it", () => {
    const { parser } = record();
    parser.push(Buffer.from(CONNECT));
    parser.limitPayload(Number.POSITIVE_INFINITY);
    parser.limitPayload(10);
    parser.limitPayload(100);
    assert.throws(() => parser.push(Buffer.from("PUB a 11\r\n")), ProtocolViolation);
  });

  test("ignores the rest of the chunk after it is stopped", () => {
    let pings = 0;
    const parser: NatsProtocolParser = new NatsProtocolParser(HUB_LIMITS, {
      connect: () => {},
      publish: () => {},
      subscribe: () => {},
      unsubscribe: () => {},
      ping: () => {
        pings++;
        parser.stop();
      },
      pong: () => {},
    });
    parser.push(Buffer.from(`${CONNECT}PING\r\nPING\r\nBOGUS\r\n`));
    assert.equal(pings, 1);
  });
});
