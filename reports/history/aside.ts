/** Work on runs in a thread of its own: the server answers meanwhile, and goes on where the work takes all memory or time. */
import { Worker } from 'node:worker_threads';
import type { Answers, Job, Questions } from './aside.worker.ts';

const MOST_MB = 2048;
const MOST_MS = 120_000;

/** One thread at a time. */
let last: Promise<unknown> = Promise.resolve();

/** @throws what the work throws, or that it took too much */
export function aside<J extends Job>(job: J, ...question: Questions[J]): Promise<Answers[J]> {
  const next = last.then(() => work(job, question));
  last = next.catch(() => {});
  return next;
}

async function work<J extends Job>(job: J, question: Questions[J]): Promise<Answers[J]> {
  const worker = new Worker(new URL('./aside.worker.ts', import.meta.url), {
    workerData: { job, question },
    resourceLimits: { maxOldGenerationSizeMb: MOST_MB },
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`it takes longer than ${MOST_MS / 1000} s`)), MOST_MS);
      worker.once('message', ({ answer, error }) => {
        if (error === undefined) resolve(answer);
        else reject(new Error(error));
      });
      worker.once('error', (error: NodeJS.ErrnoException) => {
        const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        reject(memory ? new Error(`it takes more than ${MOST_MB} MB of memory`) : error);
      });
      worker.once('exit', () => reject(new Error('it ended without a result')));
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
