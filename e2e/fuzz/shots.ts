/** Generates the requests of a run. Request `index` depends only on the run's seed and the index. */
import * as body from "./body-shots.ts";
import * as connection from "./connection-shots.ts";
import * as framing from "./framing-shots.ts";
import * as header from "./header-shots.ts";
import { Random } from "./random.ts";
import type { AgentShot, Shot, SocketShot } from "./shot.ts";

interface Kind {
  kind: string;
  weight: number;
  make: (random: Random) => AgentShot | SocketShot;
}

const KINDS: Kind[] = [
  { kind: "valid", weight: 120, make: body.valid },
  { kind: "strangely written", weight: 60, make: body.strangelyWritten },
  { kind: "wrong field", weight: 230, make: body.wrongField },
  { kind: "mutated", weight: 150, make: body.mutated },
  { kind: "random JSON", weight: 40, make: body.randomJson },
  { kind: "spoilt text", weight: 110, make: body.spoiltText },
  { kind: "bad key", weight: 50, make: header.badKey },
  { kind: "wrong method", weight: 40, make: header.wrongMethod },
  { kind: "other path", weight: 40, make: header.otherPath },
  { kind: "catalogue", weight: 20, make: header.catalogue },
  { kind: "strange headers", weight: 40, make: header.strangeHeaders },
  { kind: "compressed", weight: 20, make: header.compressed },
  { kind: "too long a prompt", weight: 3, make: body.tooLong },
  { kind: "too many elements", weight: 2, make: body.tooMuch },
  { kind: "heavy", weight: 0.5, make: body.heavy },
  { kind: "too large", weight: 0.3, make: body.tooLarge },
  { kind: "declared too large", weight: 4, make: framing.declaredTooLarge },
  { kind: "odd chunks", weight: 30, make: framing.oddChunks },
  { kind: "slowly sent", weight: 10, make: framing.slowlySent },
  { kind: "broken chunks", weight: 15, make: framing.brokenChunks },
  { kind: "conflicting lengths", weight: 20, make: framing.conflictingLengths },
  { kind: "length too small", weight: 10, make: framing.lengthTooSmall },
  { kind: "compressed on its way", weight: 3, make: framing.compressedOnItsWay },
  { kind: "half closed", weight: 5, make: framing.halfClosed },
  { kind: "truncated", weight: 15, make: framing.truncated },
  { kind: "not HTTP", weight: 25, make: framing.notHttp },
  { kind: "pipelined", weight: 15, make: connection.pipelined },
  { kind: "left in the middle", weight: 15, make: connection.leftInTheMiddle },
  { kind: "left at once", weight: 15, make: connection.leftAtOnce },
  { kind: "talked over", weight: 5, make: connection.talkedOver },
];

export function shotOf(seed: number, index: number): Shot {
  const random = new Random(seed, index);
  const { kind, make } = random.weighted(KINDS);
  return { kind, ...make(random) };
}
