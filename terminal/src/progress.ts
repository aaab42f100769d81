/** Shows the progress of a slow command: one changing line on a terminal, plain lines elsewhere. */

export interface Progress {
  /** Shows the current step, such as `checking the ledger`. It replaces the previous step. */
  step(what: string): void;
  /** Removes the progress line. */
  done(): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/**
 * Without a terminal, only steps longer than this are printed. The only output of a quick command is then its result.
 */
const PLAIN_AFTER_MS = 2_000;

/** The timer functions, passed in so that tests can fire them. */
interface Timers {
  every(ms: number, call: () => void): () => void;
  after(ms: number, call: () => void): () => void;
}

export function openProgress(
  out: Pick<NodeJS.WriteStream, "write">,
  isWatched: boolean,
  timers: Timers = systemTimers,
): Progress {
  let current: string | undefined;
  let frame = 0;
  let stop = (): void => {};
  const draw = (): void => {
    out.write(`\r\x1b[2K${FRAMES[frame++ % FRAMES.length]} ${current}…`);
  };
  const clear = (): void => {
    stop();
    stop = () => {};
    if (current !== undefined && isWatched) out.write("\r\x1b[2K");
    current = undefined;
  };
  return {
    step(what) {
      if (what === current) return;
      if (!isWatched) {
        clear();
        current = what;
        stop = timers.after(PLAIN_AFTER_MS, () => out.write(`${what}…\n`));
        return;
      }
      if (current === undefined) stop = timers.every(FRAME_MS, draw);
      current = what;
      draw();
    },
    done: clear,
  };
}

/** Timers that do not keep the process running. */
const systemTimers: Timers = {
  every(ms, call) {
    const timer = setInterval(call, ms).unref();
    return () => clearInterval(timer);
  },
  after(ms, call) {
    const timer = setTimeout(call, ms).unref();
    return () => clearTimeout(timer);
  },
};
