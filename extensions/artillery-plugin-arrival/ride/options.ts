/** The options of a run that rides along with a script. Only the plugin's own keys are checked here; the recorder checks the others. */
import { RunConfig, readConfig } from '../../../pipeline/shared/config.ts';
import { like } from '../../../pipeline/shared/flags.ts';
import { phasesOf, timeoutOf } from '../phases.ts';
import { brokerOf, OptionError, PLACEHOLDER, runOf, stackOf, surroundings } from '../pipeline.ts';
import type { Script } from '../script.ts';
import { isMap, type Table } from '../table.ts';
import { hasId, holds, METHODS, placeOf, type Rule, requestIn, rulesOf } from './messages.ts';

export interface RideOptions {
  rules: Rule[];
  /** The dotted path of the id in a message; undefined: the script writes it. */
  id: string | undefined;
  /** Ids are numbers. */
  numbers: boolean;
  /** What arrives is compared with what was sent. */
  compares: boolean;
  /** The flows of the script's messages, in order. */
  flows: string[];
  /** The rest, for the recorder. */
  given: Table;
}

/** Options of new Run() that make or compare messages, which the script makes itself. */
const OWN = [
  ...['told', 'tool', 'pid', 'ingest', 'senders', 'body', 'rows', 'fuzz', 'publishers', 'answers', 'arrived'],
  ...['canary', 'greet', 'phases', 'everyFlow', 'traces', 'spans'],
];

/**
 * Reads config.plugins.arrival of a script.
 * @throws {OptionError} in one line
 */
export function readRide(script: Script): RideOptions {
  const all = (script.config.plugins as Table | undefined)?.arrival;
  if (!isMap(all))
    throw new OptionError(
      'config.plugins.arrival is missing; allowed: messages and id, for a script that keeps its own phases, or profile',
    );
  const { messages, id, ...given } = all;
  const own = OWN.find((key) => key in given);
  if (own !== undefined)
    throw new OptionError(
      `config.plugins.arrival has ${own}, which is nothing that a script with messages has; allowed: messages, id, arrive, limits and others`,
    );
  const rules = rulesOf(messages);
  if (id !== undefined && !(typeof id === 'string' && /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(id)))
    throw new OptionError(
      `config.plugins.arrival.id is ${JSON.stringify(id)}; allowed: a path like order.ref, or {{ $arrival.id }} in the script`,
    );
  const calls = rules.some((rule) => 'method' in rule && rule.method === 'function');
  if (id === undefined && !calls && !hasId(script.scenarios))
    throw new OptionError(
      'config.plugins.arrival.id is missing, and no request has {{ $arrival.id }}; allowed: one of them, as each message needs an id',
    );
  const flows = flowsOf(script, rules);
  if (flows.length === 0) {
    const others = [...new Set(script.scenarios.flatMap((one) => wordsOf(one.flow)))].slice(0, 8);
    throw new OptionError(
      `config.plugins.arrival.messages is ${JSON.stringify(messages)}, which no request of the script is; allowed: one of them, such as ${others.join(', ') || 'none, as it has no request'}`,
    );
  }
  return {
    rules,
    id: id as string | undefined,
    numbers: given.idFormat === 'number',
    compares: given.verify !== undefined && given.verify !== 'off',
    flows,
    given,
  };
}

/** Visits each request of a flow, in loops and parallel steps too. */
function eachRequest(flow: unknown, visit: (method: string, of: unknown) => void): void {
  for (const step of [flow ?? []].flat(2)) {
    if (!isMap(step)) continue;
    const request = requestIn(step);
    if (request !== undefined) visit(request.method, request.of);
    for (const inner of [step.loop, step.parallel]) if (Array.isArray(inner)) eachRequest(inner, visit);
  }
}

/** The flow of a message: the request's name, else that of its scenario. */
export function flowOf(of: unknown, scenario: Table, i: number): string {
  const named = isMap(of) && typeof of.name === 'string' && !of.name.includes('{{') ? of.name : scenario.name;
  return String(named ?? `scenario ${i + 1}`);
}

function flowsOf(script: Script, rules: Rule[]): string[] {
  const flows = new Set<string>();
  for (const [i, scenario] of script.scenarios.entries())
    eachRequest(scenario.flow, (method, of) => {
      if (rules.some((rule) => holds(rule, method, of) !== false)) flows.add(flowOf(of, scenario, i));
    });
  return [...flows];
}

function wordsOf(flow: unknown): string[] {
  const words: string[] = [];
  eachRequest(flow, (method, of) => {
    const place = placeOf(method, of)?.replace(/\?.*$/, '');
    const word = METHODS.includes(method) ? method.toUpperCase() : method;
    words.push(place === undefined || method === 'send' ? word : `${word} ${place}`);
  });
  return words;
}

/** What one more key of the plugin says of where messages arrive. */
const RECEIVERS = ['mqtt', 'websocket', 'sse', 'webhook', 'queue'];

/** The options of `k6 x arrival record`. */
export async function recordRide(
  ride: RideOptions,
  { config }: Script,
  script: string,
  version: string,
  env = process.env,
): Promise<object> {
  const { arrive, unmeasured, targets, deliveries, flows: _, ...given } = ride.given;
  const receivers = isMap(arrive) ? Object.keys(arrive) : [];
  const other = receivers.find((key) => !RECEIVERS.includes(key));
  if (arrive !== undefined && (!isMap(arrive) || other !== undefined))
    throw new OptionError(
      `config.plugins.arrival.arrive is ${JSON.stringify(arrive)}${like(other ?? '', RECEIVERS)}; allowed: one of ${RECEIVERS.join(', ')} with its options, like { webhook: { address: ':9000' } }`,
    );
  const phases = phasesOf(config.phases, unmeasured);
  const unknown = [unmeasured ?? []].flat().find((name) => !phases.some((phase) => phase.name === name));
  if (unknown !== undefined)
    throw new OptionError(
      `config.plugins.arrival.unmeasured has ${unknown}; allowed: ${phases.map(({ name }) => name).join(', ')}`,
    );
  const where = await whereOf(config.target, arrive as Table | undefined, targets !== undefined, env);
  const id = ride.id === undefined ? {} : { id: ride.id };
  const flow = {
    ...(targets !== undefined && { targets }),
    ...(deliveries !== undefined && { deliveries }),
  };
  return {
    ...runOf(script, version, env),
    canary: false,
    greet: false,
    timeout: timeoutOf(config),
    ...where,
    ...id,
    ...given,
    told: true,
    profile: {
      name: script,
      text: JSON.stringify({ phases, flows: ride.flows.map((name) => ({ name, ...flow })) }),
    },
  };
}

/** Where the script sends, for the report, and where its messages arrive: what it says, else the environment, else the pipeline that is up. */
async function whereOf(
  target: unknown,
  arrive: Table | undefined,
  targeted: boolean,
  env: NodeJS.ProcessEnv,
) {
  const config = readConfig(RunConfig, env);
  const ours = config.MQTT_URL === undefined && config.INGEST_URL === undefined;
  const stack = ours ? await stackOf(config) : undefined;
  const url = typeof target === 'string' && /^https?:\/\/[^{}]+$/.test(target) ? target : PLACEHOLDER;
  const ingest = new URL(url === PLACEHOLDER ? (config.INGEST_URL ?? stack?.ingest.url ?? url) : url);
  const token = env.INGEST_TOKEN || stack?.ingest.token;
  const receiver = { ...arrive };
  if (arrive === undefined || 'mqtt' in arrive) {
    const given = (arrive?.mqtt ?? {}) as Table;
    const at = given.url === undefined ? brokerOf(config, stack) : {};
    if (at === undefined)
      throw new OptionError(
        arrive === undefined
          ? 'nothing says where messages arrive; allowed: config.plugins.arrival.arrive, MQTT_URL, or a pipeline that is up (npm run pipeline)'
          : `config.plugins.arrival.arrive.mqtt has ${Object.keys(given).join(', ') || 'nothing'}, and no url; allowed: url, MQTT_URL, or a pipeline that is up (npm run pipeline)`,
      );
    const prefix = String(given.prefix ?? 'messages/');
    receiver.mqtt = { ...at, ...(!targeted && { filter: `${prefix}#` }), ...given };
  }
  return {
    ingest: { url: ingest.origin, ...(url === PLACEHOLDER && token !== undefined && { token }) },
    ...receiver,
    ...surroundings(config, env, arrive === undefined ? stack : undefined),
  };
}
