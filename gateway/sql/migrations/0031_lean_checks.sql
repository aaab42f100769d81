-- phase: after
-- A check is read anew by every statement that writes to its table. These two were read for every request and said what the functions,
-- which alone write here, see to: `ledger_hold` refuses a negative amount, and signs are written out in the functions.

alter table hold drop constraint hold_amount_check;
alter table unrolled drop constraint unrolled_sign_check;

-- Functions: the parts of a hold or a settlement that are rarely needed are statements of their own; rollups are summed by numbers.
-- functions: 1862dcc46214484b36d1040a2c05d94851736680a871b943a7d4219ddf118853
