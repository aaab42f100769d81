/** Test helper: a terminal that records output and gives scripted answers. */

import type { AskUser, Terminal } from "../terminal.ts";
import { createPaint, PAINT_WITHOUT_COLORS, type Paint } from "../terminal-text.ts";

export interface FakeTerminalOptions {
  /** Whether standard output is a terminal, with colors and live screens. */
  watched?: boolean;
  /** The user's answers, in order. Absent if there is no terminal to ask on. */
  answers?: string[];
  /** The text on standard input. */
  input?: string;
}

export class FakeTerminal implements Terminal {
  readonly lines: string[] = [];
  readonly remarks: string[] = [];
  readonly questions: { question: string; hidden: boolean }[] = [];
  readonly screens: string[][] = [];
  readonly watched: boolean;
  readonly columns = 100;
  readonly rows = 30;
  readonly paint: Paint;
  readonly remarkPaint: Paint;
  /** Every progress step that was shown. */
  readonly steps: string[] = [];
  readonly progress = { step: (what: string) => void this.steps.push(what), done: () => {} };
  readonly ask: AskUser | undefined;
  readonly #input: string;
  /** Called for every line of output. */
  heard: () => void = () => {};

  constructor(options: FakeTerminalOptions = {}) {
    this.watched = options.watched ?? false;
    this.paint = this.watched ? createPaint(true) : PAINT_WITHOUT_COLORS;
    this.remarkPaint = this.paint;
    this.#input = options.input ?? "";
    const { answers } = options;
    this.ask =
      answers &&
      (async (question, { hidden = false } = {}) => {
        this.questions.push({ question, hidden });
        const answer = answers.shift();
        if (answer === undefined) throw new Error(`nobody answers: ${question}`);
        return answer;
      });
  }

  print = (line: string): void => {
    this.lines.push(line);
    this.heard();
  };

  remark = (line: string): void => {
    this.remarks.push(line);
    this.heard();
  };

  readInput(): Promise<string> {
    return Promise.resolve(this.#input);
  }

  draw(lines: readonly string[]): void {
    this.screens.push([...lines]);
    this.heard();
  }

  get text(): string {
    return this.lines.join("\n");
  }

  /** All output of the command: results, remarks and questions. */
  get everything(): string {
    return [...this.lines, ...this.remarks, ...this.questions.map(({ question }) => question)].join("\n");
  }

  json<T>(): T {
    return JSON.parse(this.text);
  }
}
