/** The machines that gateways run on. Each has a disk, and a supervisor that restarts its gateway after a crash. */
import { type Deployment, type RunningGateway, startGateway } from "../actors/gateway.ts";
import { SimDisk } from "../world/disk.ts";
import { ProcessLifetime } from "../world/process-lifetime.ts";
import type { World } from "../world/world.ts";

const RESTART_AGAIN_MS = 2_000;

export class GatewayMachine {
  readonly number: number;
  readonly skewMs: number;
  readonly disk: SimDisk;
  /** How often the machine's gateway was started. Each start creates a new process. */
  starts = 0;
  /** The machine's gateway, while it accepts requests. */
  running: RunningGateway | undefined;
  readonly #world: World;
  readonly #deployment: Deployment;
  #life: ProcessLifetime | undefined;

  constructor(deployment: Deployment, { number, skewMs }: { number: number; skewMs: number }) {
    this.#deployment = deployment;
    this.#world = deployment.world;
    this.number = number;
    this.skewMs = skewMs;
    this.disk = new SimDisk(this.#world.scheduler, this.#world.chance.of(`disk ${number}`));
  }

  /** Does nothing if the gateway runs, drains or is about to start. */
  start(): void {
    if (this.#life?.hears === true) return;
    const life = new ProcessLifetime({ machine: this.number });
    this.#life = life;
    life.onEnd(() => {
      this.running = undefined;
    });
    startGateway(this.#deployment, this, life).then(
      (running) => {
        this.running = running;
      },
      (error: Error) => {
        // A process that fails to start ends, and the supervisor starts it again.
        this.#say(`its gateway did not start: ${error.message}`);
        life.end();
        this.#world.scheduler.after(RESTART_AGAIN_MS, () => this.start());
      },
    );
  }

  /**
   * Makes the gateway die before its `fuse`-th next access to clock, plane, database or disk; 0: at once. Returns false
   * if no gateway runs.
   */
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
    // The gateway accepts no more requests from now on; the next gateway starts when this one has ended.
    this.running = undefined;
    running.life.onEnd(() => this.#world.scheduler.after(downMs, () => this.start()));
    void running.drain(graceMs);
    return true;
  }

  #say(what: string): void {
    this.#world.trace.add(`machine ${this.number}`, what);
  }
}
