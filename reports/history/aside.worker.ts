/** The thread of aside.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { compareAside } from './compare.ts';

const jobs = { compare: compareAside };

export type Job = keyof typeof jobs;
export type Questions = { [J in Job]: Parameters<(typeof jobs)[J]> };
export type Answers = { [J in Job]: Awaited<ReturnType<(typeof jobs)[J]>> };

const { job, question } = workerData as { job: Job; question: never };
const work = jobs[job] as (...question: unknown[]) => Promise<unknown>;
try {
  parentPort?.postMessage({ answer: await work(...(question as unknown[])) });
} catch (error) {
  parentPort?.postMessage({ error: (error as Error).message });
}
