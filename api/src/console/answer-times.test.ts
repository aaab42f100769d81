import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { Route } from "../route-declaration.ts";
import { consoleApi } from "./api.ts";

/** Routes whose answers need no time: records that never change, and a check that states its own time. */
const WITHOUT_TIME = ["getRequest", "getPlatformRequest", "getReceipt", "getEarningReceipt", "checkLedger"];
/** Routes that only read, although their method is not GET. */
const READING = ["quoteChat"];
const A_TIME = /(^|_)(at|since|from|to|until)$/;

/** Returns the paths of a schema's numbers and amounts, except times. */
function figuresOf(schema: unknown, path: string[] = []): string[] {
  const name = path.at(-1) ?? "";
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, value]) => figuresOf(value, [...path, key]));
  if (schema instanceof z.ZodArray) return figuresOf(schema.element, path);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return figuresOf(schema.unwrap(), path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => figuresOf(option, path));
  const isFigure = schema instanceof z.ZodNumber ? !A_TIME.test(name) : name.endsWith("_micro");
  return isFigure ? [path.join(".")] : [];
}

test("every answer of the console API that contains figures also contains the time at which they were true", () => {
  const routes = consoleApi.tables.flatMap(({ routes: table }) => Object.entries<Route>(table));
  const missing = routes
    .filter(([id, { at }]) => (at.startsWith("GET") || READING.includes(id)) && !WITHOUT_TIME.includes(id))
    .flatMap(([id, { answer }]) => {
      const { json } = answer;
      const hasTime = json instanceof z.ZodObject && "as_of" in json.shape;
      return hasTime ? [] : figuresOf(json).map((figure) => `${id}: ${figure}`);
    });
  assert.deepEqual(missing, []);
});
