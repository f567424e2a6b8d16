/**
 * An Artillery plugin that measures when messages arrive. Artillery makes one in its main thread, which starts the recorder,
 * and one in the thread that sends, which hooks into each request.
 */
import type { EventEmitter } from 'node:events';
import { basename } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { arriveEvenly } from './arrivals.ts';
import { Artillery } from './artillery.ts';
import { explainChecks } from './ensure.ts';
import { oneSender, requireOneSender, requireThisHost } from './one-sender.ts';
import { followsProfile, readOptions, recordOptions } from './options.ts';
import { findRecorder } from './recorder.ts';
import { fail, Recording } from './recording.ts';
import { readRide, recordRide } from './ride/options.ts';
import { Rider } from './ride/rider.ts';
import type { Script } from './script.ts';
import { Sender } from './sender.ts';
import { refuse } from './thread.ts';

export type { ArrivalOptions, RideAlongOptions, Script } from './script.ts';

interface Global {
  artillery: { version: string; suggestedExitCode?: number; globalEvents?: Pick<EventEmitter, 'on'> };
}

/** Artillery's options of a run. */
interface RunnerOptions {
  absoluteScriptPath: string;
}

export class Plugin {
  readonly #recording: Recording | undefined;

  /** Ends the process, with one line that says why, when the options are wrong. */
  constructor(script: Script, _events: unknown, { absoluteScriptPath }: RunnerOptions) {
    try {
      const { artillery } = globalThis as unknown as Global;
      const setExitCode = (code: number) => {
        artillery.suggestedExitCode = code;
      };
      const file = basename(absoluteScriptPath);
      requireThisHost(process.argv, process.env);
      if (isMainThread && artillery.globalEvents !== undefined) explainChecks(artillery.globalEvents);
      const record = (given: Promise<object>) => new Recording(findRecorder(process.env), given, setExitCode);
      if (followsProfile(script.config)) {
        if (!isMainThread) requireOneSender(script);
        const options = readOptions(script, absoluteScriptPath);
        if (isMainThread) {
          oneSender();
          this.#recording = record(recordOptions(options, file, artillery.version));
        } else {
          arriveEvenly(script, inner(script));
          new Sender(options).attach(script);
        }
        return;
      }
      const ride = readRide(script);
      if (isMainThread) this.#recording = record(recordRide(ride, script, file, artillery.version));
      else new Rider(ride, script, inner(script));
    } catch (error) {
      if (isMainThread) fail((error as Error).message);
      refuse((error as Error).message);
    }
  }

  /** Called by Artillery at the end, in both threads. */
  cleanup(done: () => void): void {
    if (this.#recording === undefined) done();
    else this.#recording.end().then(done, done);
  }
}

/** The Artillery of this sending thread, which has what the plugin needs. @throws {OptionError} */
function inner({ config }: Script): Artillery {
  const [{ worker = 1 } = {}] = (config.phases ?? []) as { worker?: number }[];
  const artillery = new Artillery(worker === 1);
  artillery.require();
  return artillery;
}
