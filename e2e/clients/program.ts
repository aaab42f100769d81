/** The form of an entry in `programs.ts`: a client, or a program with checks of its own. */
import type { Client, Traits } from "./client.ts";
import type { World } from "./world.ts";

/** What a program is asked, by column. */
export type Checks = Record<string, () => Promise<string | undefined>>;

/** A program that has no API, or is set up for one account: it has checks of its own. */
export interface Tool {
  checks: (world: World) => Promise<Checks>;
  close?: () => Promise<void>;
}

export interface Program {
  /** As `--only` takes it. */
  id: string;
  name: string;
  version: string;
  /** Whether `matrix.test.ts` drives it, and not `npm run clients` alone. */
  inTests: boolean;
  traits: Traits;
  /** Starts it, or says why it cannot be had here. */
  load: () => Promise<Client | Tool | { missing: string }>;
}
