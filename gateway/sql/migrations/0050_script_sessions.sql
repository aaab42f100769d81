-- phase: after
-- Sessions for scripts: `tollgate login` begins one, and a person confirms it in the browser.

-- What the session of a script may do; null: a browser's. Its token here is a hash with a prefix, which opens nothing as a cookie.
alter table identity_session add column script_access text check (script_access in ('read', 'write'));

-- Logins that wait to be confirmed, for ten minutes.
create table script_login (
  -- The SHA-256 of the token that the script has, as hex. Of a confirmed login it becomes the session's.
  token_hash text primary key,
  -- What the script shows and the person confirms.
  code       text not null unique,
  name       text not null check (length(name) between 1 and 100),
  access     text not null check (access in ('read', 'write')),
  ip_address text,
  refused_at timestamptz,
  expires_at timestamptz not null
);
create index script_login_expiry on script_login (expires_at);

-- functions: 9a304a2da6c1b0816858096efe7610ae6d8825c00252b3639fe19bcbd88f1ef5
