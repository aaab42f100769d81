/** The machines that gateways run on: each has a disk, and a supervisor that starts its gateway again when it died. */
import { type Deployment, type RunningGateway, startGateway } from "../actors/gateway.ts";
import { SimDisk } from "../world/disk.ts";
import { Life } from "../world/life.ts";
import type { World } from "../world/world.ts";

const RESTART_AGAIN_MS = 2_000;

export class Machine {
  readonly number: number;
  readonly skewMs: number;
  readonly disk: SimDisk;
  /** How often its gateway was started: each run is another process. */
  starts = 0;
  /** Its gateway, while that takes requests. */
  running: RunningGateway | undefined;
  readonly #world: World;
  readonly #deployment: Deployment;
  #life: Life | undefined;

  constructor(deployment: Deployment, { number, skewMs }: { number: number; skewMs: number }) {
    this.#deployment = deployment;
    this.#world = deployment.world;
    this.number = number;
    this.skewMs = skewMs;
    this.disk = new SimDisk(this.#world.scheduler, this.#world.chance.of(`disk ${number}`));
  }

  /** Unless it runs, or drains, or is about to. */
  start(): void {
    if (this.#life?.hears === true) return;
    const life = new Life({ machine: this.number });
    this.#life = life;
    life.onEnd(() => {
      this.running = undefined;
    });
    startGateway(this.#deployment, this, life).then(
      (running) => {
        this.running = running;
      },
      (error: Error) => {
        // As a process does that cannot start: it ends, and is started again.
        this.#say(`its gateway did not start: ${error.message}`);
        life.end();
        this.#world.scheduler.after(RESTART_AGAIN_MS, () => this.start());
      },
    );
  }

  /** False where none runs. Its gateway dies before it has used the world so many times more; 0: now. */
  crash({ fuse, powerLoss, downMs }: { fuse: number; powerLoss: boolean; downMs: number }): boolean {
    const life = this.#life;
    if (life === undefined || !life.hears) return false;
    life.onEnd(() => {
      this.#say(powerLoss ? "loses its power" : "its gateway died");
      if (powerLoss) this.disk.crash();
      this.#world.scheduler.after(downMs, () => this.start());
    });
    if (fuse === 0) life.end();
    else life.burn(fuse);
    return true;
  }

  drain({ graceMs, downMs }: { graceMs: number; downMs: number }): boolean {
    const { running } = this;
    if (running === undefined) return false;
    // It takes no more from now on; the next one starts when it is gone.
    this.running = undefined;
    running.life.onEnd(() => this.#world.scheduler.after(downMs, () => this.start()));
    void running.drain(graceMs);
    return true;
  }

  #say(what: string): void {
    this.#world.trace.add(`machine ${this.number}`, what);
  }
}
