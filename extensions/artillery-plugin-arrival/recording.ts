/** The run as Artillery's main thread sees it: starts the recorder, waits until it is ready, and tells its result. */
import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { shortPath } from '../../pipeline/stack/file.ts';
import type { Run } from '../../reports/run.ts';
import type { Options } from './options.ts';
import { textOf } from './text.ts';
import { type Assignment, channelOf, READY } from './thread.ts';

/** How Artillery's main thread tells the one that sends which run it is. */
export const RUN_VARIABLE = 'ARRIVAL_ARTILLERY_RUN';
/** ms for the recorder to connect */
const PATIENCE = 60_000;

export class Recording {
  readonly #worker: Worker;
  readonly #id = randomBytes(6).toString('hex');
  readonly #exited: Promise<void>;
  #result: { run: Run; dir: string } | undefined;

  /**
   * @param script name of Artillery's file
   * @throws an error of one line, when the run cannot start
   */
  constructor(options: Options, script: string, version: string) {
    oneSender();
    process.env[RUN_VARIABLE] = this.#id;
    const ready = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const { port1, port2 } = new MessageChannel();
    const assignment: Assignment = {
      id: this.#id,
      method: script.replace(/(\.artillery)?\.\w+$/, ''),
      version,
      command: process.env.ARRIVAL_COMMAND ?? `artillery run ${script}`,
      options,
      ready,
      port: port2,
    };
    this.#worker = new Worker(new URL('./recorder-thread.ts', import.meta.url), {
      workerData: assignment,
      transferList: [port2],
    });
    this.#worker.on('error', (error) =>
      console.error(`arrival: the recorder failed: ${error.message.split('\n')[0]}`),
    );
    this.#exited = new Promise((done) =>
      this.#worker.once('exit', (code) => {
        // Virtual users would wait for the end of the run for ever, and what else they send is recorded no more.
        if (code !== 0) process.exit(1);
        done();
      }),
    );
    // Artillery begins to send when all plugins are made, and waits for none of them otherwise.
    if (Atomics.wait(ready, 0, 0, PATIENCE) === 'timed-out') {
      throw new Error(`nothing could be connected within ${PATIENCE / 1000} s`);
    }
    if (ready[0] !== READY) throw new Error(receiveMessageOnPort(port1)?.message ?? 'the recorder failed');
    port1.on('message', (result) => {
      this.#result = result;
    });
    port1.unref();
  }

  /** Resolves when the report is written; a run that is not over is cut off. */
  async end(): Promise<void> {
    const channel = channelOf(this.#id);
    channel.postMessage({ tell: 'stop' });
    await this.#exited;
    channel.close();
    if (this.#result === undefined) return;
    const { run, dir } = this.#result;
    console.log(textOf(run));
    console.log(`report  ${shortPath(`${dir}/index.html`)}`);
  }
}

/**
 * Artillery divides its load over one thread less than there are processors, and has no option for that. A schedule in which
 * the n-th arrival is the n-th request needs one.
 */
function oneSender(): void {
  const all = os.cpus;
  os.cpus = () => all().slice(0, 2);
}
