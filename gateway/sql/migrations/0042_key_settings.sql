-- phase: after
-- What a key's owner may turn on. Labels: `user` and `metadata.label` of requests are stored, and are often personal data.
alter table api_key add column labels boolean not null default false;
-- Thinking is also sent in the field in which many clients look for it.
alter table api_key add column reasoning_content boolean not null default false;

-- functions: 4e6a99a0f71946ee0cc50430d92ddeba97eab1b2c3371195a312ebc2e8e9f2c4
