/**
 * A key's settings as form fields, and the changes that a user made to them. Fields are named as in the API. An empty
 * field removes its setting. Pure.
 */
import type { ApiKey, KeyChange } from "../../api/answer-types.ts";
import { formatDollarsForInput, parseMicro, toWholeMicro } from "../../dollar-amounts.ts";
import { convertLocalTime, zoneOffsetMs } from "../../locale.ts";
import { parseDollars } from "../../parse-dollars.ts";
import { parseWholeNumber } from "../../whole-number.ts";

const BUDGETS = ["budget_day_micro", "budget_month_micro"] as const;
const SWITCHES = ["spot_checks", "labels", "reasoning_content"] as const;
export const LIMIT_FIELDS = ["requests_per_minute", "tokens_per_minute", "in_flight"] as const;

export interface KeyForm {
  name: string;
  budget_day_micro: string;
  budget_month_micro: string;
  /** The value of a `datetime-local` input, in the reader's time zone: `2026-12-01T09:30`. */
  expires_at: string;
  /** The allowed models; null means all. */
  models: string[] | null;
  spot_checks: boolean;
  labels: boolean;
  reasoning_content: boolean;
  requests_per_minute: string;
  tokens_per_minute: string;
  in_flight: string;
}

export const NEW_KEY_FORM: KeyForm = {
  name: "",
  budget_day_micro: "",
  budget_month_micro: "",
  expires_at: "",
  models: null,
  spot_checks: true,
  labels: false,
  reasoning_content: false,
  requests_per_minute: "",
  tokens_per_minute: "",
  in_flight: "",
};

/** The initial values of an existing key's form. */
export function fillKeyForm(key: ApiKey): KeyForm {
  return {
    name: key.name,
    budget_day_micro: dollarsOf(key.budget_day_micro),
    budget_month_micro: dollarsOf(key.budget_month_micro),
    expires_at: key.expires_at === null ? "" : localMinute(key.expires_at),
    models: key.models,
    spot_checks: key.spot_checks,
    labels: key.labels,
    reasoning_content: key.reasoning_content,
    requests_per_minute: textOf(key.limits_set.requests_per_minute),
    tokens_per_minute: textOf(key.limits_set.tokens_per_minute),
    in_flight: textOf(key.limits_set.in_flight),
  };
}

export function readKeyForm(fields: FormData): KeyForm {
  const text = (name: string): string => String(fields.get(name) ?? "").trim();
  return {
    name: text("name"),
    budget_day_micro: text("budget_day_micro"),
    budget_month_micro: text("budget_month_micro"),
    expires_at: text("expires_at"),
    models: text("models_allowed") === "some" ? fields.getAll("models").map(String) : null,
    spot_checks: fields.has("spot_checks"),
    labels: fields.has("labels"),
    reasoning_content: fields.has("reasoning_content"),
    requests_per_minute: text("requests_per_minute"),
    tokens_per_minute: text("tokens_per_minute"),
    in_flight: text("in_flight"),
  };
}

interface Problem {
  /** The field's name in the API. */
  param: string;
  text: string;
}

/** Returns the changed settings for the API, or the field that cannot be parsed. The API checks all other rules. */
export function findChangedSettings(form: KeyForm, before: KeyForm): { change: KeyChange } | { problem: Problem } {
  const change: KeyChange = {};
  if (form.name !== before.name) change.name = form.name;
  for (const name of BUDGETS) {
    if (form[name] === before[name]) continue;
    const read = form[name] === "" ? null : parseDollars(form[name]);
    if (read !== null && "wrong" in read) return { problem: { param: name, text: read.wrong } };
    change[name] = read === null ? null : toWholeMicro(read.pico);
  }
  if (form.expires_at !== before.expires_at) {
    change.expires_at =
      form.expires_at === "" ? null : Math.floor(convertLocalTime(Date.parse(`${form.expires_at}Z`)) / 1000);
  }
  if (String(form.models) !== String(before.models)) {
    if (form.models?.length === 0) return { problem: { param: "models", text: "Choose at least one model." } };
    change.models = form.models;
  }
  for (const name of SWITCHES) if (form[name] !== before[name]) change[name] = form[name];
  for (const name of LIMIT_FIELDS) {
    if (form[name] === before[name]) continue;
    const limit = form[name] === "" ? null : parseWholeNumber(form[name]);
    if (limit === undefined) return { problem: { param: `limits.${name}`, text: "Enter a whole number, 0 or more." } };
    change.limits = { ...change.limits, [name]: limit };
  }
  return { change };
}

const dollarsOf = (micro: string | null): string => (micro === null ? "" : formatDollarsForInput(parseMicro(micro)));
const textOf = (limit: number | null): string => (limit === null ? "" : String(limit));

function localMinute(unixSeconds: number): string {
  const atMs = unixSeconds * 1000;
  return new Date(atMs + zoneOffsetMs(atMs)).toISOString().slice(0, 16);
}
