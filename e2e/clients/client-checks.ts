/**
 * The checks of every client, in the order of the table. A check throws when it fails. If a client lacks a feature or
 * has a known flaw, the check asserts that and returns the reason, which the table shows as `no`.
 */
import { ANSWER_CHECKS } from "./answer-checks.ts";
import { REFUSAL_CHECKS } from "./refusal-checks.ts";

export const CLIENT_CHECKS = [...ANSWER_CHECKS, ...REFUSAL_CHECKS];
