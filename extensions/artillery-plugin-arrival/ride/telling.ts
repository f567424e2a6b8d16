/** What a sending thread tells the recorder, through the main thread: its messages with their numbers, and what became of them. */
import type { BroadcastChannel } from 'node:worker_threads';
import { type FromSender, Lines, monotonic, type Ready } from '../thread.ts';
import type { Due } from './due.ts';

/** Lines wait so long for others, ms, as each post costs CPU. They say themselves when things happened. */
const GATHER = 200;

export class Telling {
  readonly #channel: BroadcastChannel;
  readonly #lines: Lines;
  readonly #ids: Ready['ids'];
  /** This thread among those that send, from 0, and how many they are: each has every so many-th number. */
  readonly #worker: number;
  readonly #workers: number;
  #count = 0;
  readonly #kinds = { byPhase: 0, inSession: 0 };
  #began = false;

  constructor(channel: BroadcastChannel, ids: Ready['ids'], worker: number, workers: number) {
    this.#channel = channel;
    this.#lines = new Lines(channel, (post) => setTimeout(post, GATHER));
    this.#ids = ids;
    this.#worker = worker;
    this.#workers = workers;
  }

  /** Adds a message. */
  take(flow: string, due: Due): { number: number; id: string } {
    const number = this.#count++ * this.#workers + this.#worker;
    this.#kinds[due.byPhase ? 'byPhase' : 'inSession']++;
    this.send({ due: number, at_us: Math.floor(due.at), flow });
    const { prefix, digits } = this.#ids;
    return { number, id: prefix + String(number).padStart(digits, '0') };
  }

  send(line: object): void {
    this.#lines.add(line);
  }

  /** The first phase begins. */
  begin(): void {
    if (this.#began) return;
    this.#began = true;
    this.#post({ began: Math.floor(monotonic()) });
  }

  /** All virtual users have ended. */
  end(): void {
    this.#lines.post();
    this.#post({ done: this.#kinds, of: this.#workers });
  }

  #post(message: FromSender): void {
    this.#channel.postMessage(message);
  }
}
