import {
  ConfigError,
  describe,
  IngestConfig,
  RelayConfig,
  readConfig,
  StackConfig,
  withoutPassword,
} from '../common/config.ts';
import { levelOf, readable } from '../common/log.ts';
import { deadLetters } from './dead-letters.ts';
import { exitAfter, explain } from './explain.ts';
import { shortPath } from './file.ts';
import { onInterrupt } from './interrupt.ts';
import { OUR_OWN } from './settings.ts';
import { Stack } from './stack.ts';

/** Of our processes' lines those are shown that are as bad as this, in pino's levels. */
const SHOWN = { debug: 40, info: 40, warn: 40, error: 50, silent: Number.POSITIVE_INFINITY } as const;

const HELP = `Starts the pipeline in the foreground: Redis, Mosquitto, ingest and relays. Ctrl-C drains and stops it.

  npm run pipeline
  npm run pipeline -- dead-letters --help     what could not be delivered

Environment
${describe(StackConfig)}

and of each ingest
${describe(IngestConfig, OUR_OWN)}

and of each relay
${describe(RelayConfig, OUR_OWN)}
`;

/** `npm run pipeline`: the stack in the foreground until Ctrl-C. */
async function main(): Promise<number> {
  const [command, ...args] = process.argv.slice(2);
  if (command === 'dead-letters') return deadLetters(args);
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(HELP);
    return 0;
  }
  if (command !== undefined) {
    throw new ConfigError(`there is no command "${command}"; allowed: dead-letters, or none: the pipeline`);
  }
  const config = readConfig(StackConfig);
  const started = performance.now();
  let stack: Stack | undefined;
  const interrupted = Promise.withResolvers<void>();
  onInterrupt(
    () => interrupted.resolve(),
    () => {
      stack?.kill();
      console.error('stopped at once');
      process.exit(1);
    },
  );

  stack = await Stack.start(config, { onLine: printer(SHOWN[config.LOG_LEVEL]) });
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

function print({ file, dir }: Stack, seconds: number): void {
  const here = shortPath(dir);
  const rows = [
    ['ingest', `${file.ingest.url}/messages`],
    ...(file.topology === 'cluster'
      ? [
          [
            '',
            `nginx, in turn to ${Object.entries(file.workers)
              .map(([worker, url]) => `${worker} ${url}`)
              .join(', ')}`,
          ],
        ]
      : []),
    ['redis', withoutPassword(file.redis.url)],
    ['mqtt', file.mqtt.url],
    [
      'processes',
      Object.entries(file.processes)
        .map(([name, pid]) => `${name} (${pid})`)
        .join(', '),
    ],
    [
      'health',
      Object.entries(file.health)
        .map(([name, url]) => `${name} ${url}`)
        .join(', '),
    ],
    ['credentials', `${here}/stack.json`],
    ['logs', `${here}/logs/`],
  ];
  console.log(`The pipeline is ready after ${seconds.toFixed(1)} s. Ctrl-C drains and stops it.`);
  for (const [name, value] of rows) console.log(`  ${name?.padEnd(12)}${value}`);
}

/** Redis' and Mosquitto's chatter is in their logs; what our own processes warn of is shown. */
function printer(level: number): (name: string, line: string) => void {
  return (name, line) => {
    if ((levelOf(line) ?? 0) >= level) console.error(`${name} | ${readable(line)}`);
  };
}

exitAfter(main());
