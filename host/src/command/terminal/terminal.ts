/**
 * Where a command speaks: lines of its answer, remarks beside it, questions, a live screen. It is the one place that knows
 * whether a person is watching.
 */

import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text as wholeText } from "node:stream/consumers";
import { CommandError } from "../errors.ts";
import { type Paint, paint } from "./text.ts";

export interface Terminal {
  /** A line of the answer, on standard output. */
  print(line: string): void;
  /** A line beside the answer, on standard error. */
  remark(line: string): void;
  /** Somebody watches the answer. */
  readonly watched: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** Asks the person and gives back the answer without spaces around it; undefined where nobody can be asked. */
  readonly ask: Ask | undefined;
  /** All of standard input. */
  readInput(): Promise<string>;
  /** Replaces what was drawn last. */
  draw(lines: readonly string[]): void;
}

export type Ask = (question: string, options?: { hidden?: boolean }) => Promise<string>;

export interface TerminalEnv {
  NO_COLOR?: string | undefined;
  TERM?: string | undefined;
}

type Streams = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">;

const COLUMNS_UNKNOWN = 80;
const ROWS_UNKNOWN = 24;

export function processTerminal({ stdin, stdout, stderr }: Streams, env: TerminalEnv): Terminal {
  const watched = stdout.isTTY === true && env.TERM !== "dumb";
  let drawn = 0;
  return {
    print: (line) => void stdout.write(`${line}\n`),
    remark: (line) => void stderr.write(`${line}\n`),
    watched,
    get columns() {
      return stdout.columns ?? COLUMNS_UNKNOWN;
    },
    get rows() {
      return stdout.rows ?? ROWS_UNKNOWN;
    },
    // https://no-color.org: set and not empty.
    paint: paint(watched && !env.NO_COLOR),
    ask: stdin.isTTY && stderr.isTTY ? (question, options) => ask({ stdin, stderr }, question, options) : undefined,
    readInput: () => wholeText(stdin),
    draw(lines) {
      const up = drawn === 0 ? "" : `\x1b[${drawn}A`;
      stdout.write(`${up}\r\x1b[J${lines.map((line) => `${line}\n`).join("")}`);
      drawn = lines.length;
    },
  };
}

/** Questions go to standard error, so that the answer can still be piped away. */
function ask(
  { stdin, stderr }: Pick<Streams, "stdin" | "stderr">,
  question: string,
  options: { hidden?: boolean } = {},
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: options.hidden ? silent : stderr, terminal: true });
  if (options.hidden) stderr.write(question);
  return new Promise((resolve, reject) => {
    let answer: string | undefined;
    reader.question(options.hidden ? "" : question, (text) => {
      answer = text.trim();
      reader.close();
    });
    reader.once("close", () => {
      if (options.hidden || answer === undefined) stderr.write("\n");
      if (answer === undefined) reject(new CommandError("nothing was answered, nothing was changed"));
      else resolve(answer);
    });
  });
}
