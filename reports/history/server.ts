/** `npm run reports`: the runs in a browser. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Type } from '@sinclair/typebox';
import closeWithGrace from 'close-with-grace';
import { fastify } from 'fastify';
import { ConfigError, readConfig } from '../../pipeline/common/config.ts';
import { readFlags } from '../../pipeline/common/flags.ts';
import { printFolded } from '../../pipeline/common/fold.ts';
import { comparisonTemplate } from '../comparison/page.ts';
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

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = readFlags(process.argv.slice(2), { port: text, runs: text });
  if (values.help) {
    printFolded(HELP);
    return;
  }
  const port = readPort(values.port);
  const runs =
    values.runs === undefined ? fileURLToPath(new URL('../runs', import.meta.url)) : resolve(values.runs);
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
    onError: (error) => console.error(error),
  });
  closeWithGrace({ logger: false }, async ({ err }) => {
    if (err) console.error(err);
    await app.close();
  });
  await app.listen({ host: HOST, port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ConfigError(
      `port ${port} is taken; --port or REPORTS_PORT names another, 0 chooses a free one`,
    );
  });
  const { port: bound } = app.server.address() as { port: number };
  console.log(`http://${HOST}:${bound}`);
}

function readPort(given: string | undefined): number {
  if (given === undefined) return readConfig(Config).REPORTS_PORT;
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

main().catch((error: Error) => {
  const ours = error instanceof ConfigError;
  console.error(ours ? `reports: ${error.message.split('\n')[0]}` : error);
  process.exit(ours ? 2 : 1);
});
