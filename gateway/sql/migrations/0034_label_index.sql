-- phase: after
-- transaction: none
-- Requests by label, with all that a list of them is narrowed down by, put in order by and summed up from: no rollup knows of labels beside
-- anything else, and records of one label lie a page apart. Takes the place of request_label (0036).
create index concurrently if not exists request_by_label on request (account_id, label, id)
  include (model, key_id, outcome, requests, prompt_tokens, completion_tokens, charge_pico, duration_ms) where label is not null;
-- functions: c3043b2a423f15b4be05af5c9fd48fa31bf4dfb2ea0fa1108ebd14cca3711832
