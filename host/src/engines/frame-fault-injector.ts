/**
 * Injects faults into a node's network messages: wraps the node's connection and changes frames as they leave. The
 * scripted engine chooses the fault and the amount of output before it. The engine port and the agent thus need no code
 * for broken frames.
 */
import { decodeFrame, encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import type { Frame } from "@tollgate/protocol/frames.ts";
import type { PlaneConnection, PlaneDialer } from "../agent/plane-connection.ts";

/**
 * The byte that marks an `accepted` frame. Frames are only decoded while a job with faults runs; otherwise only their
 * kind is read.
 */
const ACCEPTED = encodeFrame({ kind: "accepted", job: `${"0".repeat(26)}-01` })[1];

interface Fault {
  /** The amount of output before the fault, in UTF-16 code units. */
  afterChars: number;
  commit: (connection: PlaneConnection, subject: string) => void;
}

interface FaultyJob {
  /** The subject of the job's frames. Undefined until its `accepted` frame is sent. */
  subject: string | undefined;
  charsSent: number;
  faults: Fault[];
  tokensClaimed: number | undefined;
}

export class FrameFaultInjector {
  /** The subject of each running job's frames, known from its `accepted` frame. */
  readonly #subjects = new Map<string, string>();
  readonly #faulty = new Map<string, FaultyJob>();
  /** The connection used for the latest frame. */
  #connection: PlaneConnection | undefined;

  /** Wraps the function that connects to the plane. */
  decorate(dial: PlaneDialer): PlaneDialer {
    return async (credentials, name) => {
      const connection = await dial(credentials, name);
      return {
        publish: (subject, payload) => this.#publish(connection, subject, payload),
        subscribe: (subject, receive) => connection.subscribe(subject, receive),
        flush: () => connection.flush(),
        closed: connection.closed,
        close: () => connection.close(),
      };
    };
  }

  /** Starts counting the output of a job. No effect if the job does not use a wrapped connection. */
  begin(job: string): void {
    const subject = this.#subjects.get(job);
    this.#faulty.set(job, { subject, charsSent: 0, faults: [], tokensClaimed: undefined });
  }

  end(job: string): void {
    this.#subjects.delete(job);
    this.#faulty.delete(job);
  }

  /** Publishes invalid bytes to the job's gateway. */
  garbage(job: string, afterChars: number): void {
    const commit = (connection: PlaneConnection, subject: string): void => {
      for (const bytes of makeMalformedFrames(job)) connection.publish(subject, bytes);
    };
    this.#add(job, { afterChars, commit });
  }

  /** Cuts the node's connection without notice. The agent then reconnects. */
  drop(job: string, afterChars: number): void {
    const commit = (connection: PlaneConnection): void => {
      const cut = (): Promise<void> => connection.close();
      connection
        .flush()
        .then(cut, cut)
        .catch(() => {
          // Ignores the error, because the connection is already closed.
        });
    };
    this.#add(job, { afterChars, commit });
  }

  /** Adds a token count to the job's `done` frame, which the protocol does not allow. */
  claim(job: string, tokens: number): void {
    const faulty = this.#faulty.get(job);
    if (faulty !== undefined) faulty.tokensClaimed = tokens;
  }

  #add(job: string, fault: Fault): void {
    const faulty = this.#faulty.get(job);
    if (faulty === undefined) return;
    faulty.faults.push(fault);
    this.#commitDue(faulty);
  }

  #publish(connection: PlaneConnection, subject: string, payload: Uint8Array): void {
    this.#connection = connection;
    if (payload[1] !== ACCEPTED && this.#faulty.size === 0) {
      connection.publish(subject, payload);
      return;
    }
    const frame = decodeFrame(payload);
    connection.publish(subject, this.#withClaim(frame) ?? payload);
    if (frame.kind === "accepted") this.#accepted(frame.job, subject);
    if (frame.kind === "deltas" || frame.kind === "timed") this.#count(frame);
  }

  #accepted(job: string, subject: string): void {
    this.#subjects.set(job, subject);
    const faulty = this.#faulty.get(job);
    if (faulty === undefined) return;
    faulty.subject = subject;
    this.#commitDue(faulty);
  }

  #withClaim(frame: Frame): Uint8Array | undefined {
    if (frame.kind !== "done") return undefined;
    const tokens = this.#faulty.get(frame.job)?.tokensClaimed;
    if (tokens === undefined) return undefined;
    const claim = { tokens, usage: { completion_tokens: tokens } };
    return encodeFrame({ ...frame, ...claim });
  }

  #count({ deltas }: Extract<Frame, { kind: "deltas" | "timed" }>): void {
    for (const { job, text } of deltas) {
      const faulty = this.#faulty.get(job);
      if (faulty === undefined) continue;
      faulty.charsSent += text.length;
      this.#commitDue(faulty);
    }
  }

  #commitDue(job: FaultyJob): void {
    const connection = this.#connection;
    const { subject } = job;
    if (connection === undefined || subject === undefined) return;
    const due = job.faults.filter(({ afterChars }) => afterChars <= job.charsSent);
    job.faults = job.faults.filter((fault) => !due.includes(fault));
    for (const { commit } of due) commit(connection, subject);
  }
}

/** Invalid frames: too short, of another version, truncated, not text, not JSON, or not matching the schema. */
export function makeMalformedFrames(job: string): Uint8Array[] {
  const delta = encodeFrame({ kind: "deltas", deltas: [{ job, seq: 0, channel: "answer", text: "??" }] });
  const done = encodeFrame({ kind: "done", job, seq: 0, finish: "stop" });
  const patched = (frame: Buffer, at: number, byte: number): Buffer => {
    const copy = Buffer.from(frame);
    copy[at < 0 ? copy.length + at : at] = byte;
    return copy;
  };
  return [
    new Uint8Array(0),
    done.subarray(0, 1),
    patched(done, 0, 0xee),
    delta.subarray(0, -1),
    patched(delta, -1, 0xff),
    patched(delta, 2, 9),
    patched(delta, 4, 0x20),
    done.subarray(0, -1),
    Buffer.concat([done.subarray(0, 2), Buffer.from(JSON.stringify({ job, seq: -1, finish: "never" }))]),
  ];
}
