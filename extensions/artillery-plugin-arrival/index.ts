/**
 * An Artillery plugin that measures when messages arrive. Artillery makes one in its main thread, which starts the recorder,
 * and one in the thread that sends, which hooks into each request.
 */
import { basename } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { arriveEvenly } from './arrivals.ts';
import { readOptions } from './options.ts';
import { Recording, RUN_VARIABLE } from './recording.ts';
import { type Script, Sender } from './sender.ts';

interface Global {
  artillery: { version: string; suggestedExitCode?: number };
}

export class Plugin {
  readonly #recording: Recording | undefined;

  /** Ends the process, with one line that says why, when the run cannot start. */
  constructor(script: Script, _events: unknown, { absoluteScriptPath }: { absoluteScriptPath: string }) {
    try {
      const options = readOptions(script, absoluteScriptPath);
      if (isMainThread) {
        const { version } = (globalThis as unknown as Global).artillery;
        this.#recording = new Recording(options, basename(absoluteScriptPath), version);
      } else {
        arriveEvenly(script);
        new Sender(process.env[RUN_VARIABLE] as string, options, (code) => {
          (globalThis as unknown as Global).artillery.suggestedExitCode = code;
        }).attach(script);
      }
    } catch (error) {
      console.error(`arrival: ${(error as Error).message.split('\n')[0]}`);
      process.exit(1);
    }
  }

  /** Called by Artillery at the end, in both threads. */
  cleanup(done: () => void): void {
    if (this.#recording === undefined) done();
    else this.#recording.end().then(done, done);
  }
}
