/** Shared by Artillery's two threads: the lines that recorder and sender exchange, and the clock. */
import { BroadcastChannel, receiveMessageOnPort } from 'node:worker_threads';
import type { Account } from '../../reports/contract/run.ts';

/** A request that the recorder hands out. */
export interface Slot {
  n: number;
  /** When it is due, µs of the monotonic clock. */
  due_us: number;
  flow: string;
  /** A path of the ingest. */
  path: string;
  /** JSON: a message, or an array of them. */
  body: string;
  /** Absent: the run has no traces. */
  traceparent?: string;
}

/** The line that ends a recording. */
export interface Result {
  /** Text for the terminal. */
  summary: string;
  verdict: { result: string };
  account: Account;
  exit: number;
}

/** The counters of Artillery's report. */
export function countersOf({ account, verdict }: Result): Record<string, number> {
  const { scheduled, balanced, requests, deliveries, ...counts } = account;
  const named = Object.entries({ scheduled, ...counts }).map(([name, count]) => [`arrival.${name}`, count]);
  return { ...Object.fromEntries(named), 'arrival.invalid': verdict.result === 'invalid' ? 1 : 0 };
}

/** What the recorder says when it is ready. */
export interface Ready {
  directory: string;
  /** How the ids of messages are written, where the plugin rides along with a script. */
  ids: { prefix: string; digits: number };
  /** Where a script sends that does not say so, and with which token. Added by the main thread. */
  ingest: { url: string; token?: string };
}

/** What a sending thread says to the main thread beside lines for the recorder, where the plugin rides along. */
export type FromSender =
  | { hello: true }
  /** Its first phase has begun, µs. */
  | { began: number }
  /** All of its virtual users have ended: how many messages were due by a phase and in a session, and how many threads send. */
  | { done: { byPhase: number; inSession: number }; of: number };

/** An answer of the recorder; extensions/k6/README.md lists all of them. */
export type Answer =
  | { ready: Ready }
  | { started: { epoch_us: number } }
  | { slots: Slot[] }
  | { progress: { latencies_ms: number[] } }
  | { error: { message: string } }
  | Result;

/**
 * Opens the channel between the two threads. The sender posts lines for the recorder; the main thread, which owns the recorder's
 * process, posts its answers.
 */
export function openChannel(): BroadcastChannel {
  return new BroadcastChannel('arrival');
}

/** Lines for the recorder that a sending thread gathers and posts together. */
export class Lines {
  readonly #channel: BroadcastChannel;
  readonly #wait: (post: () => void) => void;
  #text = '';

  /** @param wait calls `post` when the lines have waited for others */
  constructor(channel: BroadcastChannel, wait: (post: () => void) => void) {
    this.#channel = channel;
    this.#wait = wait;
  }

  add(line: object): void {
    if (this.#text === '') this.#wait(() => this.post());
    this.#text += `${JSON.stringify(line)}\n`;
  }

  post(): void {
    if (this.#text !== '') this.#channel.postMessage(this.#text);
    this.#text = '';
  }
}

/** The sending thread posts it in place of lines when it can't use the script. */
export interface Refusal {
  refused: string;
}

/** Waits for the main thread to end the process with this line: by itself this thread can't, and Artillery would wait for it. */
export function refuse(message: string): never {
  openChannel().postMessage({ refused: message } satisfies Refusal);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30_000);
  process.exit(1);
}

/** Returns the time of the host's monotonic clock, which the recorder uses too, µs. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

/** Waits until the recorder is ready. The main thread ends the process where it can't be. */
export function askReady(channel: BroadcastChannel): Ready {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  channel.postMessage({ hello: true } satisfies FromSender);
  for (;;) {
    const message = receiveMessageOnPort(channel as never)?.message as Answer | undefined;
    if (message === undefined) Atomics.wait(clock, 0, 0, 10);
    else if (typeof message === 'object' && 'ready' in message) return message.ready;
  }
}
