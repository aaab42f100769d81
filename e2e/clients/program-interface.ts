/** Defines the entries of `programs.ts`: each is a client, or a program with checks of its own. */
import type { Client, ClientTraits } from "./client-interface.ts";
import type { AccountsForClientTests } from "./client-platform.ts";

/** A program's checks by their columns in the table. */
export type ProgramChecks = Record<string, () => Promise<string | undefined>>;

/** A program that has no API, or that can use only one account. It has checks of its own. */
export interface ProgramWithOwnChecks {
  checks: (world: AccountsForClientTests) => Promise<ProgramChecks>;
  close?: () => Promise<void>;
}

export interface Program {
  /** The name for the flag `--only`. */
  id: string;
  name: string;
  version: string;
  /** Whether `matrix.test.ts` tests the client too. `npm run clients` tests all of them. */
  inTests: boolean;
  traits: ClientTraits;
  /** Starts the client, or returns why it is missing. */
  load: () => Promise<Client | ProgramWithOwnChecks | { missing: string }>;
}
