/** Defines the entries of `programs.ts`: each is a client, or a program with checks of its own. */
import type { Client, Traits } from "./client.ts";
import type { World } from "./world.ts";

/** A program's checks by their columns in the table. */
export type Checks = Record<string, () => Promise<string | undefined>>;

/** A program that has no API, or that can use only one account. It has checks of its own. */
export interface Tool {
  checks: (world: World) => Promise<Checks>;
  close?: () => Promise<void>;
}

export interface Program {
  /** The name for the flag `--only`. */
  id: string;
  name: string;
  version: string;
  /** Whether `matrix.test.ts` tests the client too. `npm run clients` tests all of them. */
  inTests: boolean;
  traits: Traits;
  /** Starts the client, or returns why it is missing. */
  load: () => Promise<Client | Tool | { missing: string }>;
}
