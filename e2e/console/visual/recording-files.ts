/** The recorded API responses: one JSON file per request of a page, in one folder per role. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const RECORDING_FOLDER = fileURLToPath(new URL("recorded", import.meta.url));
/** The time of the recording. Every replay uses this time, because pages request times relative to now. */
const MOMENT = join(RECORDING_FOLDER, "moment.json");

/** The role of the visitor: without a session, a builder who also hosts, or an operator. */
export type Role = "visitor" | "builder" | "operator";

export interface RecordedEvent {
  event?: string;
  /** The event's data, parsed if it is JSON. */
  data: unknown;
}

export interface RecordedResponse {
  as: Role;
  /** The request's method and path, for example `GET /console/api/keys?limit=100`. */
  request: string;
  /** The request's body, if it has one. */
  sent?: unknown;
  status: number;
  body?: unknown;
  /** The events instead of a body, if the response is a stream of server-sent events. */
  events?: RecordedEvent[];
}

/** The recorded responses by their file paths in the folder. */
type Recording = Map<string, RecordedResponse>;

export const readRecordingTime = (): Date => new Date(JSON.parse(readFileSync(MOMENT, "utf8")).at);

export function readRecording(): Recording {
  const files = globSync("*/*.json", { cwd: RECORDING_FOLDER }).sort();
  return new Map(
    files.map((file) => [file, JSON.parse(readFileSync(join(RECORDING_FOLDER, file), "utf8")) as RecordedResponse]),
  );
}

/** Replaces all recorded responses. */
export function writeRecording(answers: RecordedResponse[], moment: Date): void {
  rmSync(RECORDING_FOLDER, { recursive: true, force: true });
  const taken = new Set<string>();
  for (const answer of answers) {
    let file = `${answer.as}/${nameOf(answer.request)}.json`;
    for (let n = 2; taken.has(file); n++) file = `${answer.as}/${nameOf(answer.request)}-${n}.json`;
    taken.add(file);
    mkdirSync(dirname(join(RECORDING_FOLDER, file)), { recursive: true });
    writeFileSync(join(RECORDING_FOLDER, file), JSON.stringify(answer));
  }
  writeFileSync(MOMENT, JSON.stringify({ at: moment }));
}

/**
 * Makes a file name from a request: `POST /console/api/operator/accounts/acc_1/grant?x=1` →
 * `POST-operator-accounts-acc_1-grant,x=1`.
 */
function nameOf(request: string): string {
  const plain = decodeURIComponent(request)
    .replace(/^GET /, "")
    .replace(/\/console\/api\/|\.json$/g, "")
    .replace("?", ",");
  return plain.replaceAll(/[^\w.,=]+/g, "-").replace(/^-/, "");
}
