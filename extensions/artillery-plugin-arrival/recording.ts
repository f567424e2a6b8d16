/** The recorder's process, `k6 x arrival record`, as Artillery's main thread sees it: it starts, hears and ends it. */
import type { ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Child, type Ended } from '../../pipeline/stack/child.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import { openChannel, type Result, type Said } from './thread.ts';

const END = JSON.stringify({ end: true });

/** Ends the process, with one line that says why. */
export function fail(message: string): never {
  console.error(`arrival: ${message.split('\n')[0]}`);
  process.exit(1);
}

class RecorderProcess extends Child {
  /** What it has logged last: why it failed, where it could not say so. */
  lastWords = '';

  constructor(k6: string, options: object, hear: (said: Said) => void) {
    super([k6, 'x', 'arrival', 'record', '--quiet', '--log-format=raw'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      kind: 'k6',
      env: { GOGC: '400', ...process.env },
    });
    // Where the recorder is gone, its end says so.
    this.child.stdin?.on('error', () => {});
    const { stdout, stderr } = this.child as ChildProcessByStdio<Writable, Readable, Readable>;
    createInterface({ input: stdout }).on('line', (line) => hear(JSON.parse(line)));
    createInterface({ input: stderr }).on('line', (line) => {
      this.lastWords = line;
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
  #directory: string | undefined;
  #failure: string | undefined;
  #result: Result | undefined;
  /** The recorder has been asked to come to its end. */
  #ending = false;
  #interrupted = false;

  /**
   * @param k6 what {@link findRecorder} has found
   * @param options of `k6 x arrival record`
   */
  constructor(k6: string, options: Promise<object>, setExitCode: (code: number) => void) {
    oneSender();
    this.#setExitCode = setExitCode;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        this.#interrupted = true;
      });
    }
    this.#process = options.then((given) => new RecorderProcess(k6, given, (said) => this.#hear(said)));
    this.#channel.onmessage = (event) => void this.#write((event as { data: string }).data);
    this.#over = this.#process.then(async (recorder) =>
      this.#check(await recorder.ended, recorder.lastWords),
    );
    this.#over.catch((error: Error) => fail(error.message));
  }

  /** Resolves when the report is written; a run that was interrupted is cut off. */
  async end(): Promise<void> {
    const recorder = await this.#process;
    if (this.#result === undefined) {
      if (this.#interrupted) recorder.signal('SIGINT');
      // Artillery ends although nobody has asked for the result: no virtual user came so far.
      else if (!this.#ending) await this.#write(`${END}\n`);
    }
    await this.#over;
    this.#channel.close();
    if (this.#result !== undefined) console.log(this.#result.summary);
  }

  async #write(lines: string): Promise<void> {
    this.#ending ||= lines.includes(END);
    (await this.#process).write(lines);
  }

  #hear(said: Said): void {
    if ('ready' in said) {
      this.#directory = said.ready.directory;
    } else if ('error' in said) {
      this.#failure = said.error.message;
    } else if ('summary' in said) {
      this.#result = said;
      if (said.exit !== 0 && !this.#interrupted) this.#setExitCode(said.exit);
    }
    this.#channel.postMessage(said);
  }

  /** Virtual users would wait for ever for a recorder that has ended without a result, and what they send is recorded no more. */
  #check({ code, signal }: Ended, lastWords: string): void {
    if (this.#result !== undefined) return;
    const report = this.#directory && join(this.#directory, 'index.html');
    if (report && existsSync(report)) console.log(`report  ${shortPath(report)}`);
    if (this.#interrupted) return;
    const how = signal ?? `the exit code ${code}`;
    fail(this.#failure ?? `the recorder ended with ${how}${lastWords && `: ${lastWords}`}`);
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
