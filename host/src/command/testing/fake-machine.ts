/** Test helper: a machine whose programs and their outputs the test sets. */
import type { Machine, ProgramResult } from "../machine/machine.ts";

export const BYTES_PER_GIB = 1024 ** 3;

interface FakeMachine extends Machine {
  /** Every program that was run, with its arguments. */
  readonly ran: string[];
}

interface FakeMachineOptions extends Partial<Omit<Machine, "run" | "exists">> {
  /** The output or the failure of each program, by its name. */
  programs?: Record<string, string | ProgramResult>;
  paths?: string[];
}

export function fakeMachine({ programs = {}, paths = [], ...facts }: FakeMachineOptions = {}): FakeMachine {
  const ran: string[] = [];
  return {
    platform: "linux",
    arch: "x64",
    hostname: "box",
    home: "/home/ada",
    user: "ada",
    isRoot: false,
    cpu: "Test CPU",
    cores: 8,
    memoryBytes: 16 * BYTES_PER_GIB,
    freeMemoryBytes: () => 8 * BYTES_PER_GIB,
    freeDiskBytes: async () => 100 * BYTES_PER_GIB,
    ...facts,
    ran,
    exists: (path) => paths.includes(path),
    async run(program, args) {
      ran.push([program, ...args].join(" "));
      const result = programs[program];
      return typeof result === "string" ? { code: 0, output: result, errors: "" } : result;
    },
  };
}
