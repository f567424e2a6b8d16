import { resolve } from 'node:path';
import { openQueue } from '../queue/open.ts';
import { explainRedis } from '../queue/problems.ts';
import type { DeadLetter, Letters, MessageQueue } from '../queue/queue.ts';
import { ConfigError, DeadLettersConfig, describe, queueOptions, readConfig } from '../shared/config.ts';
import { readFlags } from '../shared/flags.ts';
import { printFolded } from '../shared/fold.ts';
import { printable } from '../shared/printable.ts';
import { trust, trustText } from '../shared/trust.ts';
import { runningStack, type StackFile, shortPath } from './file.ts';

const HELP = `Lists, requeues or drops dead letters: messages that no relay could deliver. They stay until then.

  npm run pipeline -- dead-letters [list] [--json]
  npm run pipeline -- dead-letters requeue <id>… | --all     puts them back into the queue, without their attempts
  npm run pipeline -- dead-letters drop <id>… | --all        drops them for good

<id> is a message's id (at ID_KEY) or a letter's, as listed. --json prints a line for each letter (list), or the result.
They are those of the running pipeline (${shortPath('.stack')}/stack.json), or of REDIS_URL.
Exit code: 0 done; 1 not done, or not for each id, with the reason.

Environment
${describe(DeadLettersConfig)}
`;

const ACTIONS = ['list', 'requeue', 'drop'] as const;

interface Request {
  action: (typeof ACTIONS)[number];
  ids: string[];
  all: boolean;
  json: boolean;
}

/** `npm run pipeline -- dead-letters`. Resolves with the exit code. */
export async function deadLetters(args: readonly string[]): Promise<number> {
  const request = read(args);
  if (request === 'help') {
    printFolded(HELP);
    return 0;
  }
  const config = readConfig(DeadLettersConfig);
  const queue = await open(config);
  const all = () => queue.deadLetters.list(config.ID_KEY);
  try {
    if (request.action === 'list') await list(all(), request.json);
    else return await change(queue.deadLetters, all(), request);
    return 0;
  } catch (error) {
    throw new Error(explainRedis(error as Error));
  } finally {
    queue.close();
  }
}

function read(args: readonly string[]): Request | 'help' {
  const flag = { type: 'boolean' } as const;
  const { values, positionals } = readFlags(args, { all: flag, json: flag }, true);
  if (values.help) return 'help';
  const [word = 'list', ...ids] = positionals;
  const action = ACTIONS.find((name) => name === word);
  const { all = false, json = false } = values;
  if (action === undefined) {
    throw new ConfigError(`dead-letters: there is no "${word}"; allowed: ${ACTIONS.join(', ')}`);
  }
  if (action === 'list' && (all || ids.length > 0)) {
    throw new ConfigError('dead-letters list takes no ids and no --all: it lists all of them');
  }
  if (action !== 'list' && all === ids.length > 0) {
    throw new ConfigError(`dead-letters ${action}: allowed: one id or more, or --all`);
  }
  return { action, ids, all, json };
}

async function open(config: DeadLettersConfig): Promise<MessageQueue> {
  let { REDIS_URL: url, QUEUE: kind } = config;
  let division: StackFile['division'] = queueOptions(config);
  let variable = 'REDIS_URL';
  if (url === undefined) {
    const stack = await runningStack(resolve(config.STACK_DIR));
    if (stack === undefined) {
      throw new ConfigError(
        `no pipeline is up in ${shortPath(resolve(config.STACK_DIR))}; allowed: STACK_DIR of one, or REDIS_URL`,
      );
    }
    variable = "the pipeline's Redis";
    url = stack.operator.redisUrl;
    kind = stack.queue;
    division = stack.division;
    if (stack.ca !== undefined) trustText(stack.ca);
  }
  trust(config.TLS_CA);
  const queue = openQueue(kind, { url, ...division, timeoutMs: config.REDIS_TIMEOUT_MS });
  try {
    await queue.whenReady(config.REDIS_TIMEOUT_MS);
  } catch (error) {
    queue.close();
    throw new ConfigError(`${variable}: ${(error as Error).message}`);
  }
  return queue;
}

async function list(letters: AsyncIterable<DeadLetter>, json: boolean): Promise<void> {
  const now = Date.now();
  let count = 0;
  for await (const letter of letters) {
    count++;
    console.log(printable(json ? JSON.stringify(letter) : line(letter, now)));
  }
  if (!json) console.log(count === 0 ? 'no dead letters' : `${count} dead letter${count === 1 ? '' : 's'}`);
}

function line({ letter, id, target, reason, deliveries, buried }: DeadLetter, now: number): string {
  const attempts = `${deliveries} attempt${deliveries === 1 ? '' : 's'}`;
  return `${letter}  ${id ?? '(no id)'}  ${target ?? '(no target)'}  ${age(now - buried)}  ${attempts}: ${reason}`;
}

async function change(
  letters: Letters,
  listed: AsyncIterable<DeadLetter>,
  { action, ids, all, json }: Request,
): Promise<number> {
  const known = new Map<string, string>();
  const wanted = new Set(ids);
  for await (const { letter, id } of listed) {
    if (all || wanted.has(letter)) known.set(letter, letter);
    else if (id !== undefined && wanted.has(id)) known.set(letter, id);
  }
  const found = [...known.keys()];
  const done = action === 'requeue' ? await letters.requeue(found) : await letters.drop(found);
  const names = new Set(known.values());
  const missing = ids.filter((id) => !names.has(id));
  const left = found.length - done.length;
  if (json) console.log(JSON.stringify({ action, done, missing, left }));
  else console.log(`${done.length} ${action === 'requeue' ? 'back in the queue' : 'dropped'}`);
  if (missing.length > 0) console.error(`no dead letter: ${missing.join(', ')}`);
  if (left > 0) console.error(`${left} not done: they are gone, or hold no message`);
  return missing.length + left > 0 ? 1 : 0;
}

/** An age in its largest unit. */
function age(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ] as const;
  const [size, unit] = units.find(([size]) => ms >= size) ?? [1000, 's'];
  return `${Math.max(0, Math.floor(ms / size))} ${unit} ago`;
}
