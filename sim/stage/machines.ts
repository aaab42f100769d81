/** The machines of the gateways: each has a disk and a supervisor that restarts its gateway. */
import { type Deployment, type RunningGateway, startGateway } from "../actors/gateway.ts";
import { SimDisk } from "../world/disk.ts";
import { Life } from "../world/life.ts";
import type { World } from "../world/world.ts";

const RESTART_AGAIN_MS = 2_000;

export class Machine {
  readonly number: number;
  readonly skewMs: number;
  readonly disk: SimDisk;
  /** How often its gateway was started. */
  starts = 0;
  /** The machine's gateway, while it accepts requests. */
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

  /** Does nothing while the gateway runs, drains or is about to start. */
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
        // A process that cannot start ends and is restarted.
        this.#say(`its gateway did not start: ${error.message}`);
        life.end();
        this.#world.scheduler.after(RESTART_AGAIN_MS, () => this.start());
      },
    );
  }

  /** Returns false if no gateway runs. The gateway dies after `fuse` more uses of its handles; 0: now. */
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
    // Accepts no more requests; the next process starts when this one has ended.
    this.running = undefined;
    running.life.onEnd(() => this.#world.scheduler.after(downMs, () => this.start()));
    void running.drain(graceMs);
    return true;
  }

  #say(what: string): void {
    this.#world.trace.add(`machine ${this.number}`, what);
  }
}
