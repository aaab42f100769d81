/**
 * The checks of every client, in the order of the table. Each throws when it fails. A feature that a client lacks or
 * does differently is asserted and returned as the reason for a `no`.
 */
import { answers } from "./answers.ts";
import { refusals } from "./refusals.ts";

export const behaviours = [...answers, ...refusals];
