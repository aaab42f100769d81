/** The form of an entry in `programs.ts`: a client, or a program with checks of its own. */
import type { Client, Traits } from "./client.ts";
import type { World } from "./world.ts";

/** A program's checks by column. */
export type Checks = Record<string, () => Promise<string | undefined>>;

/** A program without an API, or for a single account, which has its own checks. */
export interface Tool {
  checks: (world: World) => Promise<Checks>;
  close?: () => Promise<void>;
}

export interface Program {
  /** The name for `--only`. */
  id: string;
  name: string;
  version: string;
  /** Whether `matrix.test.ts` includes it, and not only `npm run clients`. */
  inTests: boolean;
  traits: Traits;
  /** Starts the client, or returns why it is missing. */
  load: () => Promise<Client | Tool | { missing: string }>;
}
