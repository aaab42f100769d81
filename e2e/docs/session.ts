/**
 * One bash for all blocks of a page: variables, functions and the working directory carry over from block to block. A block ends at the
 * first command that fails, and the session with it. What runs in the background is interrupted when the session ends, as Ctrl-C does,
 * also when the process that opened the session is gone: its end of the pipe closes then.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, unlessHung } from "@tollgate/stage/wait.ts";

interface SessionOptions {
  /** Where it begins. */
  folder: string;
  /** For its own files. */
  scratch: string;
  env: NodeJS.ProcessEnv;
}

export interface Failure {
  why: string;
  /** Within the script; undefined where bash does not say. */
  line: number | undefined;
  command: string;
  stdout: string;
  stderr: string;
}

type Ended = { stdout: string } | Failure;

/** What bash reports of itself goes to a file, line by line; `__groups` has the process groups in the background. */
const PRELUDE = `
__groups=()
__failed() { local newline=$'\\n'; printf 'failed %s %s\\n' "$1" "\${2//$newline/ }" >>"$__report"; }
__signal() { for group in "\${__groups[@]}"; do kill "-$1" -- "-$group"; done 2>/dev/null; }
__end() { set +e; __signal INT; wait; __signal KILL; }
trap '__failed "$LINENO" "$BASH_COMMAND"' ERR
trap __end EXIT
`;

export class Session {
  readonly #shell;
  readonly #exited: Promise<unknown>;
  readonly #scratch: string;
  #blocks = 0;

  constructor({ folder, scratch, env }: SessionOptions) {
    this.#scratch = scratch;
    writeFileSync(this.#report, "");
    // In a group of its own: the keyboard's interrupt is for who opened it.
    this.#shell = spawn("bash", ["--noprofile", "--norc"], {
      cwd: folder,
      env,
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    this.#exited = once(this.#shell, "exit");
    // A session that has ended takes no more commands; `run` says so.
    this.#shell.stdin.on("error", () => {});
    this.#tell(`__report='${this.#report}'${PRELUDE}`);
  }

  async run(script: string): Promise<Ended> {
    const { file, out, err, mark } = this.#files(script);
    this.#tell(`set -e; . '${file}' >'${out}' 2>'${err}' </dev/null; echo '${mark}' >>'${this.#report}'`);
    const failed = (why: string): Failure => ({ ...this.#failed(why), stdout: textOf(out), stderr: textOf(err) });
    try {
      await eventually("the block has ended", () => this.#said(mark) || this.#isOver());
    } catch (error) {
      this.#signal("SIGTERM");
      return failed(`${(error as Error).message}. A block that goes on running needs background="text"`);
    }
    if (this.#said(mark)) return { stdout: textOf(out) };
    return failed(`failed with exit code ${this.#shell.exitCode}`);
  }

  /** Starts it and waits until it has printed `text`; gives what it printed up to the end of that line, errors too. */
  async start(script: string, text: string): Promise<Ended> {
    const { file, out, mark } = this.#files(script);
    // `set -m` gives it a process group of its own.
    this.#tell(`set -m
{ set +e; ( set -e; . '${file}' ) >'${out}' 2>&1 </dev/null; echo '${mark}' >>'${this.#report}'; } &
__groups+=("$!"); set +m`);
    const printed = (): string | undefined => {
      const all = textOf(out);
      const end = all.includes(text) ? all.indexOf("\n", all.indexOf(text)) : -1;
      return end < 0 ? undefined : all.slice(0, end + 1);
    };
    const failed = (why: string): Failure => ({ ...this.#failed(why), stdout: textOf(out), stderr: "" });
    try {
      await eventually(`it prints "${text}"`, () => printed() !== undefined || this.#said(mark) || this.#isOver());
    } catch (error) {
      return failed((error as Error).message);
    }
    const stdout = printed();
    return stdout === undefined ? failed(`ended before it printed "${text}"`) : { stdout };
  }

  /** Interrupts what runs in the background and waits for its end. */
  async close(): Promise<void> {
    this.#shell.stdin.end();
    try {
      await unlessHung("what runs in the background ends when it is interrupted", this.#exited);
    } finally {
      if (!this.#isOver()) this.#signal("SIGKILL");
    }
  }

  get #report(): string {
    return join(this.#scratch, "report");
  }

  #tell(commands: string): void {
    this.#shell.stdin.write(`${commands}\n`);
  }

  #isOver(): boolean {
    return this.#shell.exitCode !== null || this.#shell.signalCode !== null;
  }

  #said(mark: string): boolean {
    return textOf(this.#report).split("\n").includes(mark);
  }

  /** To bash and what it runs in the foreground. */
  #signal(signal: NodeJS.Signals): void {
    if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, signal);
  }

  #files(script: string) {
    this.#blocks += 1;
    const name = join(this.#scratch, `block-${this.#blocks}`);
    writeFileSync(`${name}.sh`, script);
    return { file: `${name}.sh`, out: `${name}.out`, err: `${name}.err`, mark: `ended ${this.#blocks}` };
  }

  #failed(why: string): Pick<Failure, "why" | "line" | "command"> {
    const [, line, command = ""] = /^failed (\d+) (.*)$/m.exec(textOf(this.#report)) ?? [];
    // Of a block that cannot be parsed bash only knows that it was read.
    const isKnown = line !== undefined && !command.startsWith(". '");
    return { why, line: isKnown ? Number(line) : undefined, command: isKnown ? command : "" };
  }
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");
