/**
 * Replaces Artillery in plugin.test.ts. It creates the plugin in the main thread and in a sending one, starts
 * virtual users at their rate, calls the hooks and emits the events of each request. At the end it prints the
 * metrics as JSON.
 */
import { EventEmitter } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import type { Script } from '../script.ts';

type Hook = (...args: unknown[]) => void;
interface Params {
  uuid: string;
  url: string;
  headers: Record<string, string>;
  json?: object;
  body?: string;
  cookieJar?: { getCookieString(url: string): Promise<string> };
}
interface Given {
  path: string;
  script: Script & { config: { phases: { duration: number; arrivalRate: number }[] } };
}

/** PLUGIN is the path of a packed plugin to test instead of the source. */
const { Plugin }: typeof import('../index.ts') = await import(process.env.PLUGIN ?? '../index.ts');

if (isMainThread) {
  const given = JSON.parse(process.argv[2] as string) as Given;
  const artillery: { version: string; suggestedExitCode?: number } = { version: '0.0.0' };
  Object.assign(globalThis, { artillery });
  const plugin = new Plugin(given.script, new EventEmitter(), { absoluteScriptPath: given.path });
  const sender = new Worker(new URL(import.meta.url), { workerData: given });
  sender.once('exit', (code) => plugin.cleanup(() => process.exit(artillery.suggestedExitCode ?? code)));
} else {
  const { path, script } = workerData as Given;
  new Plugin(script, new EventEmitter(), { absoluteScriptPath: path });
  const hooks = script.config.processor as Record<string, Hook>;
  const events = new EventEmitter();
  const metrics: Record<string, number> = {};
  const count = (name: string, value: number) => {
    metrics[name] = (metrics[name] ?? 0) + value;
  };
  events.on('counter', count);
  events.on('histogram', (name: string) => count(name, 1));
  const call = (name: unknown, ...args: unknown[]) =>
    new Promise<void>((resolve, reject) => {
      hooks[name as string]?.(...args, (error?: Error) => (error ? reject(error) : resolve()));
    });

  const scenario = script.scenarios[0] as {
    afterScenario: string[];
    onError: string[];
    flow: { post: { url: string; beforeRequest: string[] } }[];
  };
  const hooksBefore = scenario.flow.flatMap(({ post }) => post.beforeRequest);
  const visit = async (n: number) => {
    const context = { vars: {} };
    const url = `${script.config.target}${scenario.flow[0]?.post.url}`;
    const params = { uuid: `${n}`, url, headers: {} } as Params;
    for (const hook of hooksBefore) await call(hook, params, context, events);
    await params.cookieJar?.getCookieString(params.url);
    await new Promise<void>((resolve, reject) => {
      const sending: ClientRequest = request(params.url, { method: 'POST', headers: params.headers });
      events.emit('trace:http:request', params, params.uuid);
      sending.on('response', (answer) => {
        events.emit('trace:http:response', answer, params.uuid);
        answer.resume().on('end', resolve);
      });
      // Artillery emits no event of a failure either.
      sending.on('error', async (error) => {
        for (const hook of scenario.onError) await call(hook, error, params, context, events);
        reject(error);
      });
      sending.end(params.body ?? JSON.stringify(params.json));
    });
    for (const hook of scenario.afterScenario) await call(hook, context, events);
  };
  const users: Promise<void>[] = [];
  for (const { duration, arrivalRate } of script.config.phases) {
    for (let i = 0; i < duration * arrivalRate; i++) {
      await sleep(1000 / arrivalRate);
      users.push(visit(users.length));
    }
  }
  await Promise.all(users);
  console.log(JSON.stringify(metrics));
  process.exit(0);
}
