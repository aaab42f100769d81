/** Request fields that several operator routes share. */
import { z } from "zod";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";

export const SearchText = z.string().max(200, "must have at most 200 characters").refine(isPlainText, PLAIN_TEXT_RULE);
export const Reason = z
  .string("must be a string")
  .trim()
  .min(1, "must not be empty: give the reason")
  .max(200, "must have at most 200 characters")
  .refine(isPlainText, PLAIN_TEXT_RULE);
export const ReasonFields = z.object({ reason: Reason });
