/** Runs the recorder, `k6 x arrival record`, in Artillery's main thread. */
import type { ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Child, type Ended } from '../../pipeline/stack/child.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import { FEW_COLLECTIONS } from '../../pipeline/stack/k6.ts';
import {
  type Answer,
  type FromSender,
  openChannel,
  type Ready,
  type Refusal,
  type Result,
} from './thread.ts';

const START = JSON.stringify({ start: true });
const END = JSON.stringify({ end: true });

/** Ends the process with one line of error. */
export function fail(message: string): never {
  console.error(`arrival: ${message.split('\n')[0]}`);
  process.exit(1);
}

class RecorderProcess extends Child {
  /** The last line of its log: the reason when it crashes. */
  lastLine = '';

  constructor(k6: string, options: object, onAnswer: (answer: Answer) => void) {
    super([k6, 'x', 'arrival', 'record', '--quiet', '--log-format=raw'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      kind: 'k6',
      env: { ...FEW_COLLECTIONS, ...process.env },
    });
    // When the recorder is gone, `ended` reports it.
    this.child.stdin?.on('error', () => {});
    const { stdout, stderr } = this.child as ChildProcessByStdio<Writable, Readable, Readable>;
    createInterface({ input: stdout }).on('line', (line) => onAnswer(JSON.parse(line)));
    createInterface({ input: stderr }).on('line', (line) => {
      this.lastLine = line;
    });
    this.write(`${JSON.stringify({ options })}\n`);
  }

  write(lines: string): void {
    this.child.stdin?.write(lines);
  }
}

export class Recording {
  readonly #channel = openChannel();
  readonly #process: Promise<RecorderProcess>;
  readonly #over: Promise<void>;
  readonly #setExitCode: (code: number) => void;
  #ingest: Ready['ingest'] = { url: '' };
  #ready: Ready | undefined;
  /** Counts the messages of sending threads that have ended, by what their due times follow. */
  readonly #kinds = { byPhase: 0, inSession: 0 };
  #ended = 0;
  #failure: string | undefined;
  #result: Result | undefined;
  /** A virtual user came as far as its request. */
  #started = false;
  /** The recorder was asked to end. */
  #ending = false;
  #interrupted = false;

  /**
   * @param k6 the path from {@link findRecorder}
   * @param options the options of `k6 x arrival record`
   */
  constructor(k6: string, options: Promise<object>, setExitCode: (code: number) => void) {
    this.#setExitCode = setExitCode;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        this.#interrupted = true;
      });
    }
    this.#process = options.then((given) => {
      this.#ingest = (given as Pick<Ready, 'ingest'>).ingest;
      return new RecorderProcess(k6, given, (answer) => this.#onAnswer(answer));
    });
    this.#channel.onmessage = (event) => {
      const { data } = event as { data: string | Refusal | FromSender };
      if (typeof data === 'string') void this.#write(data);
      else if ('refused' in data) void this.#refuse(data.refused);
      else this.#onSender(data);
    };
    this.#over = this.#process.then(async (recorder) => this.#check(await recorder.ended, recorder.lastLine));
    this.#over.catch((error: Error) => fail(error.message));
  }

  /** Resolves when the report is written. An interrupted run is cut off. */
  async end(): Promise<void> {
    const recorder = await this.#process;
    if (this.#result === undefined) {
      if (this.#interrupted) recorder.signal('SIGINT');
      // Artillery ends before any virtual user, so nobody has asked for the result.
      else if (!this.#ending) await this.#write(`${this.#started ? '' : `${START}\n`}${END}\n`);
    }
    await this.#over;
    this.#channel.close();
    if (this.#result !== undefined) console.log(this.#result.summary);
  }

  /** Ends Artillery when the recorder has ended: until then it may make the run's directory, and it removes it again. */
  async #refuse(message: string): Promise<void> {
    this.#failure = message;
    (await this.#process).signal('SIGINT');
  }

  async #write(lines: string): Promise<void> {
    this.#started ||= lines.includes('{"start":');
    this.#ending ||= lines.includes(END);
    (await this.#process).write(lines);
  }

  /** Takes a message of a thread that rides along. All threads share one recorder: it begins with the first and ends with the last. */
  #onSender(message: FromSender): void {
    if ('hello' in message) {
      if (this.#ready !== undefined) this.#channel.postMessage({ ready: this.#ready } satisfies Answer);
    } else if ('began' in message) {
      if (!this.#started) void this.#write(`${JSON.stringify({ start: { at_us: message.began } })}\n`);
    } else {
      this.#kinds.byPhase += message.done.byPhase;
      this.#kinds.inSession += message.done.inSession;
      if (++this.#ended < message.of) return;
      const figure = (name: string, value: number) =>
        `${JSON.stringify({ figure: { name, value, unit: 'messages' } })}\n`;
      const { byPhase, inSession } = this.#kinds;
      void this.#write(
        `${figure('due by the phases', byPhase)}${figure('due within sessions', inSession)}${END}\n`,
      );
    }
  }

  #onAnswer(answer: Answer): void {
    if ('ready' in answer) {
      this.#ready = answer.ready;
      this.#ready.ingest = this.#ingest;
    } else if ('error' in answer) {
      this.#failure ??= answer.error.message;
    } else if ('summary' in answer) {
      this.#result = answer;
      if (answer.exit !== 0 && !this.#interrupted) this.#setExitCode(answer.exit);
    }
    this.#channel.postMessage(answer);
  }

  /** Ends Artillery when the recorder has ended without a result: virtual users would wait for ever. */
  #check({ code, signal }: Ended, lastLine: string): void {
    if (this.#result !== undefined) return;
    const report = this.#ready && join(this.#ready.directory, 'index.html');
    if (report && existsSync(report)) console.log(`report  ${shortPath(report)}`);
    if (this.#interrupted) return;
    const how = signal ?? `the exit code ${code}`;
    fail(this.#failure ?? `the recorder ended with ${how}${lastLine && `: ${lastLine}`}`);
  }
}
