/** One message a second beside the load, over connections of its own and to a topic of its own. No part of the account. */
import { Agent, request as http } from 'node:http';
import { request as https, Agent as SecureAgent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { canaryOf, numberOf } from './messages.ts';
import type { Options } from './options.ts';
import { headersOf, type Pipeline } from './pipeline.ts';
import { Series } from './series.ts';
import { Subscriber } from './subscriber.ts';

/** ms */
const TIMEOUT = 10_000;
const SETTLE = 1000;
const STEP = 20;
/** µs */
const SECOND = 1e6;

export class Canary {
  readonly series = new Series();
  sent = 0;
  readonly #run: string;
  readonly #options: Options;
  readonly #pipeline: Pipeline;
  readonly #now: () => number;
  readonly #onError: (what: string, message: string) => void;
  readonly #agent: Agent;
  readonly #seconds = new Map<number, number>();
  #subscriber: Subscriber | undefined;
  #epoch = 0;
  #ended = false;

  constructor(
    run: string,
    options: Options,
    pipeline: Pipeline,
    now: () => number,
    onError: (what: string, message: string) => void,
  ) {
    this.#run = run;
    this.#options = options;
    this.#pipeline = pipeline;
    this.#now = now;
    this.#onError = onError;
    this.#agent = pipeline.ingest.url.startsWith('https')
      ? new SecureAgent({ keepAlive: true })
      : new Agent({ keepAlive: true });
  }

  /** Subscribes, and sends one message ahead: whether the ingest takes it. */
  async prepare(): Promise<void> {
    const { prefix, qos, id } = this.#options;
    const topic = `${prefix}canary/${this.#run}`;
    this.#subscriber = await Subscriber.connect(
      this.#pipeline,
      [topic],
      qos,
      this.#now,
      (at, { payload }) => this.#arrive(at, numberOf(payload, `${this.#run}.canary`)),
      (reason) => {
        this.#onError('connection lost', reason);
        return () => {};
      },
    );
    const { url } = this.#pipeline.ingest;
    const { status, text } = await this.#post(canaryOf(this.#run, id, -1)).catch((error: Error) => {
      throw new Error(`the ingest ${url} cannot be reached (INGEST_URL): ${error.message}`);
    });
    if (status < 300) return;
    const why = status === 400 ? `; has it another name for the id than ${id}?` : '';
    throw new Error(`the ingest ${url} refuses messages: HTTP ${status} ${text.slice(0, 200)}${why}`);
  }

  /** Sends in the middle of each second: the cuts of the timeline are elsewhere. */
  fly(epoch: number, seconds: number): void {
    this.#epoch = epoch;
    const send = async () => {
      for (let n = 0; n < seconds && !this.#ended; n++) {
        while (this.#now() < this.#due(n) && !this.#ended) {
          await sleep(Math.max(1, Math.min(SETTLE, (this.#due(n) - this.#now()) / 1000)));
        }
        this.sent++;
        this.#post(canaryOf(this.#run, this.#options.id, n)).then(
          ({ status, text }) => status < 300 || this.#onError(`status ${status}`, text.slice(0, 200)),
          (error: Error) => this.#onError('failed', error.message),
        );
      }
    };
    void send();
  }

  /** ms; of the message that was due in a second of the run. */
  at(second: number): number | undefined {
    return this.#seconds.get(second);
  }

  /** Waits for the last of its messages, not longer than a second. */
  async settle(): Promise<void> {
    for (let waited = 0; waited < SETTLE && this.series.count < this.sent; waited += STEP) await sleep(STEP);
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#agent.destroy();
    await this.#subscriber?.end();
  }

  #due(n: number): number {
    return this.#epoch + n * SECOND + SECOND / 2;
  }

  #arrive(at: number, n: number | undefined): void {
    if (n === undefined || this.#epoch === 0 || this.#seconds.has(n)) return;
    const us = Math.max(0, at - this.#due(n));
    this.#seconds.set(n, us / 1000);
    this.series.add(us);
  }

  #post(body: object): Promise<{ status: number; text: string }> {
    const { url } = this.#pipeline.ingest;
    const request = url.startsWith('https') ? https : http;
    return new Promise((resolve, reject) => {
      const sending = request(
        `${url}/messages`,
        { method: 'POST', headers: headersOf(this.#pipeline), agent: this.#agent, timeout: TIMEOUT },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (part: string) => {
            text += part;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
          answer.on('error', reject);
        },
      );
      sending.on('timeout', () => sending.destroy(new Error(`no answer within ${TIMEOUT} ms`)));
      sending.on('error', reject);
      sending.end(JSON.stringify(body));
    });
  }
}
