/**
 * Input and output of commands: results, remarks, questions, progress, and a live screen. Only this file checks whether
 * a stream is a terminal.
 */

import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text as wholeText } from "node:stream/consumers";
import { CommandError } from "./errors.ts";
import { openProgress, type Progress } from "./progress.ts";
import { createPaint, type Paint, wantsColours } from "./terminal-text.ts";

export interface Terminal {
  /** Prints a line of the result to standard output. */
  print(line: string): void;
  /** Prints a line that is not part of the result to standard error. */
  remark(line: string): void;
  /** Whether standard output is a terminal. */
  readonly watched: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** The colors for remarks, which go to standard error. `paint` is for standard output. */
  readonly remarkPaint: Paint;
  /** Shows the current step of a slow command on standard error. */
  readonly progress: Progress;
  /** Asks the user and returns the trimmed answer. Undefined if there is no terminal to ask on. */
  readonly ask: AskUser | undefined;
  /** Reads all of standard input. */
  readInput(): Promise<string>;
  /** Draws a screen that replaces the previous one. */
  draw(lines: readonly string[]): void;
}

export type AskUser = (question: string, options?: { hidden?: boolean }) => Promise<string>;

export interface TerminalEnv {
  NO_COLOR?: string | undefined;
  FORCE_COLOR?: string | undefined;
  TERM?: string | undefined;
}

type Streams = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">;

const COLUMNS_UNKNOWN = 100;
const ROWS_UNKNOWN = 24;

export function openTerminal({ stdin, stdout, stderr }: Streams, env: TerminalEnv): Terminal {
  const isWatched = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && env.TERM !== "dumb";
  const progress = openProgress(stderr, isWatched(stderr));
  let drawn = 0;
  return {
    print(line) {
      progress.done();
      stdout.write(`${line}\n`);
    },
    remark(line) {
      progress.done();
      stderr.write(`${line}\n`);
    },
    watched: isWatched(stdout),
    get columns() {
      return stdout.columns ?? COLUMNS_UNKNOWN;
    },
    get rows() {
      return stdout.rows ?? ROWS_UNKNOWN;
    },
    paint: createPaint(wantsColours(stdout.isTTY === true, env)),
    remarkPaint: createPaint(wantsColours(stderr.isTTY === true, env)),
    progress,
    ask: stdin.isTTY && stderr.isTTY ? (question, options) => ask({ stdin, stderr }, question, options) : undefined,
    readInput: () => wholeText(stdin),
    draw(lines) {
      progress.done();
      const up = drawn === 0 ? "" : `\x1b[${drawn}A`;
      stdout.write(`${up}\r\x1b[J${lines.map((line) => `${line}\n`).join("")}`);
      drawn = lines.length;
    },
  };
}

/** Questions are written to standard error, so that the result can still be piped. */
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
      if (answer !== undefined) resolve(answer);
      else
        reject(
          new CommandError("no answer was given, and nothing was changed", {
            next: "run the command again and answer the question",
          }),
        );
    });
  });
}
