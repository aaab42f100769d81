/** What every admin command is given. */
import type pg from "pg";

export interface AdminRun {
  pool: pg.Pool;
  json: boolean;
  print: (text: string) => void;
}
