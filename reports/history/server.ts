/** `npm run reports`: the runs in a browser. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { Type } from '@sinclair/typebox';
import closeWithGrace from 'close-with-grace';
import { fastify } from 'fastify';
import { ConfigError, readConfig } from '../../pipeline/shared/config.ts';
import { isEntry, outliveReaders } from '../../pipeline/shared/entry.ts';
import { readFlags } from '../../pipeline/shared/flags.ts';
import { printFolded } from '../../pipeline/shared/fold.ts';
import type { Io } from '../command.ts';
import { comparisonTemplate } from '../comparison/page.ts';
import { RUNS } from '../directory.ts';
import { history } from './app.ts';
import { Catalogue } from './catalogue.ts';

const HELP = `Shows the runs in a browser: a list, comparisons, and runs in progress.

  npm run reports [-- --port <port>] [--runs <directory>]

  --port   the port to listen on, on 127.0.0.1 (8022, or REPORTS_PORT); 0 chooses a free one
  --runs   the directory of the runs (reports/runs)

Ctrl-C ends it. It changes nothing, except that it completes the reports of killed runs.`;

const HOST = '127.0.0.1';
/** The list waits this long for large runs without a summary; later ones come with the next list. */
const PATIENCE_MS = 2000;
const Config = Type.Object({
  REPORTS_PORT: Type.Integer({
    minimum: 0,
    maximum: 65535,
    default: 8022,
    description: 'the port of the history server; 0 chooses a free one',
  }),
});

/** Serves the runs until it is stopped, and reports an error in one line. @returns the exit code */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: Io): Promise<number> {
  try {
    return await serve(argv, env, io);
  } catch (error) {
    const ours = error instanceof ConfigError;
    io.stderr.write(`${ours ? `reports: ${error.message.split('\n')[0]}` : inspect(error)}\n`);
    return ours ? 2 : 1;
  }
}

async function serve(argv: readonly string[], env: NodeJS.ProcessEnv, io: Io): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = readFlags(argv, { port: text, runs: text });
  if (values.help) {
    printFolded(HELP, io.stdout as NodeJS.WriteStream);
    return 0;
  }
  const port = readPort(values.port, env);
  const runs = values.runs === undefined ? RUNS : resolve(values.runs);
  if (values.runs !== undefined && !(await isDirectory(runs))) {
    throw new ConfigError(`--runs: ${values.runs} is not a directory`);
  }
  const list = await readFile(new URL('../dist/history/index.html', import.meta.url), 'utf8').catch(() => {
    throw new ConfigError('reports/dist/history/index.html is missing: npm run setup builds it');
  });
  const app = fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 255 } });
  await app.register(history, {
    catalogue: new Catalogue(runs, PATIENCE_MS),
    pages: { list, comparison: await comparisonTemplate() },
    onError: (error) => io.stderr.write(`${inspect(error)}\n`),
  });
  try {
    await app.listen({ host: HOST, port }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      throw new ConfigError(
        `port ${port} is taken; --port or REPORTS_PORT names another, 0 chooses a free one`,
      );
    });
    const { port: bound } = app.server.address() as { port: number };
    io.stdout.write(`http://${HOST}:${bound}\n`);
    await stopped(io.stop);
  } finally {
    await app.close();
  }
  return 0;
}

/** Waits until the signal ends the server; without a signal it goes on. */
function stopped(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

function readPort(given: string | undefined, env: NodeJS.ProcessEnv): number {
  if (given === undefined) return readConfig(Config, env).REPORTS_PORT;
  try {
    return readConfig(Config, { REPORTS_PORT: given }).REPORTS_PORT;
  } catch (error) {
    throw new ConfigError((error as Error).message.replace('REPORTS_PORT', '--port'));
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

if (isEntry(import.meta)) {
  outliveReaders();
  const stop = new AbortController();
  const { stdout, stderr } = process;
  const ended = main(process.argv.slice(2), process.env, { stdout, stderr, stop: stop.signal });
  closeWithGrace({ logger: false }, async ({ err }) => {
    if (err) console.error(err);
    stop.abort();
    await ended;
  });
  const code = await ended;
  if (!stop.signal.aborted) process.exit(code);
}
