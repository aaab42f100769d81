/** Generates the requests of a run. Request `index` depends only on the run's seed and the index. */
import * as body from "./body-cases.ts";
import * as connection from "./connection-cases.ts";
import * as framing from "./framing-cases.ts";
import type { FuzzCase, HttpFuzzCase, SocketFuzzCase } from "./fuzz-case.ts";
import * as header from "./header-cases.ts";
import { SeededChoices } from "./seeded-choices.ts";

interface Kind {
  kind: string;
  weight: number;
  make: (random: SeededChoices) => HttpFuzzCase | SocketFuzzCase;
}

const KINDS: Kind[] = [
  { kind: "valid", weight: 120, make: body.makeValidBody },
  { kind: "strangely written", weight: 60, make: body.makeUnusualJson },
  { kind: "wrong field", weight: 230, make: body.makeWrongField },
  { kind: "mutated", weight: 150, make: body.makeMutatedBody },
  { kind: "random JSON", weight: 40, make: body.makeRandomJson },
  { kind: "spoilt text", weight: 110, make: body.makeDamagedText },
  { kind: "bad key", weight: 50, make: header.makeBadKey },
  { kind: "wrong method", weight: 40, make: header.makeWrongMethodRequest },
  { kind: "other path", weight: 40, make: header.makeNonInferenceGet },
  { kind: "catalogue", weight: 20, make: header.makeCatalogueRequest },
  { kind: "strange headers", weight: 40, make: header.makeStrangeHeaders },
  { kind: "compressed", weight: 20, make: header.makeCompressedBody },
  { kind: "too long a prompt", weight: 3, make: body.makeTooLongPrompt },
  { kind: "too many elements", weight: 2, make: body.makeTooLongArray },
  { kind: "heavy", weight: 0.5, make: body.makeLargeValidBody },
  { kind: "too large", weight: 0.3, make: body.makeTooLargeBody },
  { kind: "declared too large", weight: 4, make: framing.makeTooLargeContentLength },
  { kind: "odd chunks", weight: 30, make: framing.makeOddChunks },
  { kind: "slowly sent", weight: 10, make: framing.makeSlowRequest },
  { kind: "broken chunks", weight: 15, make: framing.makeBrokenChunks },
  { kind: "conflicting lengths", weight: 20, make: framing.makeConflictingLengths },
  { kind: "length too small", weight: 10, make: framing.makeTooSmallContentLength },
  { kind: "compressed on its way", weight: 3, make: framing.makeCompressedTransferEncoding },
  { kind: "half closed", weight: 5, make: framing.makeHalfClosedConnection },
  { kind: "truncated", weight: 15, make: framing.makeTruncatedRequest },
  { kind: "not HTTP", weight: 25, make: framing.makeInvalidHttp },
  { kind: "pipelined", weight: 15, make: connection.makePipelinedRequests },
  { kind: "left in the middle", weight: 15, make: connection.makeDisconnectDuringAnswer },
  { kind: "left at once", weight: 15, make: connection.makeImmediateDisconnect },
  { kind: "talked over", weight: 5, make: connection.makeBytesSentDuringAnswer },
];

export function generateFuzzCase(seed: number, index: number): FuzzCase {
  const random = new SeededChoices(seed, index);
  const { kind, make } = random.weighted(KINDS);
  return { kind, ...make(random) };
}
