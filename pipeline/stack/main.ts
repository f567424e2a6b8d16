import { levelOf, readable } from '../common/log.ts';
import {
  ConfigError,
  describe,
  IngestConfig,
  RelayConfig,
  readConfig,
  StackConfig,
  withoutPassword,
} from '../shared/config.ts';
import { printFolded } from '../shared/fold.ts';
import { deadLetters } from './dead-letters.ts';
import { exitAfter, explain } from './explain.ts';
import { shortPath } from './file.ts';
import { INTERRUPTED, onInterrupt } from './interrupt.ts';
import { inWords } from './redis.ts';
import { STACK_SETTINGS } from './settings.ts';
import { Stack } from './stack.ts';

/** The lowest pino level of our processes' lines to show, by LOG_LEVEL. */
const SHOWN = { debug: 40, info: 40, warn: 40, error: 50, silent: Number.POSITIVE_INFINITY } as const;

const HELP = `Starts the pipeline in the foreground: Redis, Mosquitto, ingest and relays. Ctrl-C drains and stops it.

  npm run pipeline
  npm run pipeline -- --fresh                 drops what an earlier pipeline accepted and did not deliver
  npm run pipeline -- dead-letters --help     what could not be delivered

Environment
${describe(StackConfig)}

and of each ingest
${describe(IngestConfig, STACK_SETTINGS)}

and of each relay
${describe(RelayConfig, STACK_SETTINGS)}
`;

/** `npm run pipeline`: runs the stack in the foreground until Ctrl-C. */
async function main(): Promise<number> {
  const given = process.argv.slice(2);
  const fresh = given.includes('--fresh');
  const [command, ...args] = given.filter((arg) => arg !== '--fresh');
  if (command === 'dead-letters') return deadLetters(args);
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    printFolded(HELP);
    return 0;
  }
  if (command !== undefined) {
    throw new ConfigError(`there is no command "${command}"; allowed: dead-letters, or none: the pipeline`);
  }
  const config = readConfig(StackConfig);
  const started = performance.now();
  let stack: Stack | undefined;
  const interrupted = Promise.withResolvers<void>();
  const abort = new AbortController();
  onInterrupt(
    () => {
      if (stack === undefined) console.log('stopping during the start; Ctrl-C again stops at once');
      abort.abort();
      interrupted.resolve();
    },
    () => {
      stack?.kill();
      console.error('stopped at once');
      process.exit(INTERRUPTED);
    },
  );

  const events = {
    onLine: printer(SHOWN[config.LOG_LEVEL]),
  };
  try {
    stack = await Stack.start(config, events, { leftovers: fresh ? 'drop' : 'keep' }, abort.signal);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    console.log('stopped');
    return INTERRUPTED;
  }
  print(stack, (performance.now() - started) / 1000);
  const failure = await Promise.race([stack.failed, interrupted.promise]);
  if (failure === undefined) console.log('draining; Ctrl-C again stops at once');
  await stack.stop();
  if (failure === undefined) {
    console.log('stopped');
    return 0;
  }
  explain(failure);
  return 1;
}

function print({ file, dir, left }: Stack, seconds: number): void {
  const here = shortPath(dir);
  if (left)
    console.log(`${inWords(left)} of an earlier pipeline will be delivered (--fresh would drop them)`);
  const rows = [
    ['ingest', `${file.ingest.url}/messages`],
    ...(file.topology === 'cluster' ? [['', `nginx, in turn to ${listed(file.workers)}`]] : []),
    ['redis', withoutPassword(file.redis.url)],
    ['mqtt', file.mqtt.url],
    ['processes', listed(file.processes)],
    ['health', listed(file.health)],
    ['credentials', `${here}/stack.json`],
    ['logs', `${here}/logs/`],
  ];
  console.log(`The pipeline is ready after ${seconds.toFixed(1)} s. Ctrl-C drains and stops it.`);
  for (const [name, value] of rows) console.log(`  ${name?.padEnd(12)}${value}`);
}

const listed = (named: Record<string, string | number>) =>
  Object.entries(named)
    .map((pair) => pair.join(' '))
    .join(', ');

/** Prints warnings of our own processes; Redis' and Mosquitto's output is in their logs. */
function printer(level: number): (name: string, line: string) => void {
  return (name, line) => {
    if ((levelOf(line) ?? 0) >= level) console.error(`${name} | ${readable(line)}`);
  };
}

exitAfter(main());
