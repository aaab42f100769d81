/**
 * One bash for all code blocks of a page: variables, functions and the working directory carry over from block to
 * block. The session ends at the first command that fails. Background programs are interrupted as by Ctrl-C when the
 * session ends, or when this process ends and thereby closes bash's standard input.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";

interface SessionOptions {
  /** The working directory at the start. */
  folder: string;
  /** The folder for the session's internal files. */
  scratch: string;
  env: NodeJS.ProcessEnv;
}

export interface BlockFailure {
  why: string;
  /** The line of the command within the script; undefined if bash does not report it. */
  line: number | undefined;
  command: string;
  stdout: string;
  stderr: string;
}

type Ended = { stdout: string } | BlockFailure;

/**
 * Defines bash's handlers: each result of a block is appended to the file `__report`; `__groups` contains the process
 * groups of the background programs.
 */
const PRELUDE = `
__groups=()
__failed() { local newline=$'\\n'; printf 'failed %s %s\\n' "$1" "\${2//$newline/ }" >>"$__report"; }
__signal() { for group in "\${__groups[@]}"; do kill "-$1" -- "-$group"; done 2>/dev/null; }
__end() { set +e; __signal INT; wait; __signal KILL; }
trap '__failed "$LINENO" "$BASH_COMMAND"' ERR
trap __end EXIT
`;

export class ShellSession {
  readonly #shell;
  readonly #exited: Promise<unknown>;
  readonly #scratch: string;
  #blocks = 0;

  constructor({ folder, scratch, env }: SessionOptions) {
    this.#scratch = scratch;
    writeFileSync(this.#report, "");
    // Bash gets its own process group, so that Ctrl-C in the terminal does not interrupt it before the runner does.
    this.#shell = spawn("bash", ["--noprofile", "--norc"], {
      cwd: folder,
      env,
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    this.#exited = once(this.#shell, "exit");
    // Writing to an ended session fails. `run` reports the end of the session, so this error is ignored.
    this.#shell.stdin.on("error", () => {});
    this.#tell(`__report='${this.#report}'${PRELUDE}`);
  }

  async run(script: string): Promise<Ended> {
    const { file, out, err, mark } = this.#files(script);
    this.#tell(`set -e; . '${file}' >'${out}' 2>'${err}' </dev/null; echo '${mark}' >>'${this.#report}'`);
    const failed = (why: string): BlockFailure => ({ ...this.#failed(why), stdout: textOf(out), stderr: textOf(err) });
    try {
      await eventually("the block has ended", () => this.#said(mark) || this.#isOver());
    } catch (error) {
      this.#signal("SIGTERM");
      return failed(`${(error as Error).message}. A block that goes on running needs background="text"`);
    }
    if (this.#said(mark)) return { stdout: textOf(out) };
    return failed(`failed with exit code ${this.#shell.exitCode}`);
  }

  /**
   * Starts a background program and waits until it has printed `text`. Returns its output up to the end of that line,
   * including standard error.
   */
  async start(script: string, text: string): Promise<Ended> {
    const { file, out, mark } = this.#files(script);
    // `set -m` puts the program into its own process group.
    this.#tell(`set -m
{ set +e; ( set -e; . '${file}' ) >'${out}' 2>&1 </dev/null; echo '${mark}' >>'${this.#report}'; } &
__groups+=("$!"); set +m`);
    const printed = (): string | undefined => {
      const all = textOf(out);
      const end = all.includes(text) ? all.indexOf("\n", all.indexOf(text)) : -1;
      return end < 0 ? undefined : all.slice(0, end + 1);
    };
    const failed = (why: string): BlockFailure => ({ ...this.#failed(why), stdout: textOf(out), stderr: "" });
    try {
      await eventually(`it prints "${text}"`, () => printed() !== undefined || this.#said(mark) || this.#isOver());
    } catch (error) {
      return failed((error as Error).message);
    }
    const stdout = printed();
    return stdout === undefined ? failed(`ended before it printed "${text}"`) : { stdout };
  }

  /** Interrupts background programs and waits until they have ended. */
  async close(): Promise<void> {
    this.#shell.stdin.end();
    try {
      await failIfHung("what runs in the background ends when it is interrupted", this.#exited);
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

  /** Sends a signal to bash and its foreground program. */
  #signal(signal: NodeJS.Signals): void {
    if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, signal);
  }

  #files(script: string) {
    this.#blocks += 1;
    const name = join(this.#scratch, `block-${this.#blocks}`);
    writeFileSync(`${name}.sh`, script);
    return { file: `${name}.sh`, out: `${name}.out`, err: `${name}.err`, mark: `ended ${this.#blocks}` };
  }

  #failed(why: string): Pick<BlockFailure, "why" | "line" | "command"> {
    const [, line, command = ""] = /^failed (\d+) (.*)$/m.exec(textOf(this.#report)) ?? [];
    // After a syntax error, bash names only the command with which it reads the block (`. 'FILE'`), which does not help
    // the reader.
    const isKnown = line !== undefined && !command.startsWith(". '");
    return { why, line: isKnown ? Number(line) : undefined, command: isKnown ? command : "" };
  }
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");
