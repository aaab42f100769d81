/** Every target by its name. The engine alone comes first: the others are compared with it. */
import { bare } from "./bare.ts";
import { direct } from "./direct.ts";
import { nginx } from "./nginx.ts";
import { portkey } from "./portkey.ts";
import type { StartTarget } from "./target.ts";
import { tollgate, tollgateScripted } from "./tollgate.ts";

export const TARGETS = {
  direct,
  nginx,
  bare,
  portkey,
  tollgate,
  "tollgate-scripted": tollgateScripted,
} satisfies Record<string, StartTarget>;
export type TargetName = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];
