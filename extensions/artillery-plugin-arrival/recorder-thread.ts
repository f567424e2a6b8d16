/** The recorder's thread: it is ready when everything is connected, and ends with the run. */
import { workerData } from 'node:worker_threads';
import { findPipeline } from './pipeline.ts';
import { Recorder } from './recorder.ts';
import { type Assignment, FAILED, READY } from './thread.ts';

const assignment = workerData as Assignment;

function reach(state: number): void {
  Atomics.store(assignment.ready, 0, state);
  Atomics.notify(assignment.ready, 0);
}

async function prepared(): Promise<Recorder> {
  try {
    const recorder = new Recorder(assignment, await findPipeline(process.env));
    await recorder.prepare();
    return recorder;
  } catch (error) {
    assignment.port.postMessage((error as Error).message.split('\n')[0]);
    reach(FAILED);
    return process.exit(1);
  }
}

const recorder = await prepared();
reach(READY);
// What fails from here on ends the thread, and with it the run (recording.ts).
await recorder.follow();
process.exit(0);
