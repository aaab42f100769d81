-- Nothing answered is lost: leases stand still while the store is away, and a request whose lease ran out all the same is
-- settled late, over the record that says its gateway was lost.

-- When a gateway last looked for holds to end. A gap says that nobody could renew a lease either.
create table hold_sweep (
  one boolean primary key default true check (one),
  at  timestamptz not null
) with (fillfactor = 50);
insert into hold_sweep (at) values (now());

-- What a late settlement could not collect: the hold was given back, and the account had spent it.
alter table request add column short_pico bigint not null default 0;

-- functions: a83e6974f264b17259619f2b4145899e33bfae61a3ccceeb031351b8e8853e81
