/** Passes large bodies to worker threads, and returns the parsed request or throws the error. */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { invariant } from "../../base/invariant.ts";
import type { Log } from "../../base/log.ts";
import { Fault, fault } from "../../faults.ts";
import type { LargeBodyParsing } from "../../http/http-call.ts";
import { returnSharedBuffers } from "../../http/shared-buffers.ts";
import type { Body, LargeBodyReader } from "../../inference/call-interface.ts";
import { PoolBusyError, WorkerPool } from "../../metering/worker-pool.ts";
import type { BodyReadingWorkerData, ReadBodyJob, ReadBodyResult } from "./body-worker-messages.ts";

const WAITING_MAX = 256;
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

interface Reading extends LargeBodyReader, Pick<LargeBodyParsing, "parseForm"> {
  close(): Promise<void>;
}

export function openLargeBodyReader(options: BodyReadingWorkerData & { log: Log; workersMax?: number }): Reading {
  const { log, tables, base64Compat, workersMax = Math.max(1, Math.min(2, availableParallelism() - 1)) } = options;
  const pool = new WorkerPool<ReadBodyResult>({
    startWorker: () => startWorker({ tables, base64Compat }),
    workersMax,
    waitingMax: WAITING_MAX,
    waitingUnitsMax: WAITING_BYTES_MAX,
    onCrash: (error) => log.error({ err: error }, "a worker thread that reads large request bodies crashed"),
  });
  const run = async (body: Body, order: ReadBodyJob["order"], payer: string): Promise<ReadBodyResult> => {
    // Takes the pieces out of the body. Otherwise they would be returned for reuse when the body is released.
    const pieces = body.pieces.splice(0);
    const job: ReadBodyJob = { pieces, order };
    const units = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const read = await pool.run(job, { units, lane: payer }).catch((cause) => {
      // More large bodies wait than the threads can parse. The client may retry, as it may when no node is free.
      throw cause instanceof PoolBusyError ? fault("no_capacity", { cause }) : cause;
    });
    returnSharedBuffers(pieces);
    if ("fault" in read) throw new Fault(read.fault);
    return read;
  };
  return {
    async read(body, order) {
      const read = await run(body, order, order.payer);
      invariant("ask" in read, "a request was read as a form");
      return read;
    },
    async parseForm(body, payer) {
      const read = await run(body, "form", payer);
      invariant("form" in read, "a form was read as a request");
      return read.form;
    },
    close: () => pool.close(),
  };
}

function startWorker(data: BodyReadingWorkerData): Worker {
  // Drops the process's own Node.js flags, such as `--input-type`, which would break the worker's script.
  const options = { workerData: data, name: "reading", execArgv: [] };
  // The worker's file has the same extension as this file: .ts in the repository, .js in the npm package.
  const file = `./body-reading-worker${extname(import.meta.filename)}`;
  return new Worker(new URL(file, import.meta.url), options);
}
