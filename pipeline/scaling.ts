/**
 * What a rate needs, by queueing theory and a simulation, from costs that were measured: SCALING.md.
 *
 *     node pipeline/scaling.ts [messages/s…] [--cost ingest=45.8,redis=6.4,relay=16,mosquitto=19.5]
 */
import { parseArgs } from 'node:util';
import jStat from 'jstat';
import { ConfigError } from './config.ts';
import { isEntry } from './entry.ts';

/** A place where messages wait for a server and are served, in the order in which they come. */
export interface Station {
  name: string;
  /** How many are served at once: processes, or cores. */
  servers: number;
  /** Mean time that one takes, µs. */
  service_us: number;
  /** How that is spread. `fixed`: each takes the same. */
  spread: 'fixed' | 'exponential';
}

export interface Waits {
  name: string;
  /** Share of the servers' time that is used, 0 to 1. */
  busy: number;
  /** What a message waits before it is served, µs. */
  mean_us: number;
  p99_us: number;
}

/** CPU of a message, µs, as measured; the row and its conditions stand in SCALING.md. */
export const COST = { ingest: 45.8, redis: 6.4, relay: 16, mosquitto: 19.5 } as const;
type Stage = keyof typeof COST;
const STAGES = Object.keys(COST) as Stage[];

/** A server that is busier than this makes messages wait for several times their own service. */
export const BUSY = 0.7;

/**
 * Sends messages that come at random (a Poisson process) through stations, one after the other.
 *
 * @param rate messages/s
 * @param random numbers from 0 to 1; the same ones give the same waits
 */
export function simulate(
  stations: readonly Station[],
  rate: number,
  messages: number,
  random: () => number,
): Waits[] {
  jStat.setRandom(random);
  let at = 0;
  let arrivals = Array.from({ length: messages }, () => {
    at += jStat.exponential.sample(rate / 1e6);
    return at;
  });
  return stations.map(({ name, servers, service_us, spread }) => {
    const free = new Array<number>(servers).fill(0);
    let worked = 0;
    const waits: number[] = [];
    const departures = arrivals.map((arrival) => {
      const first = free.indexOf(Math.min(...free));
      const begin = Math.max(arrival, free[first] as number);
      const took = spread === 'fixed' ? service_us : jStat.exponential.sample(1 / service_us);
      free[first] = begin + took;
      worked += took;
      waits.push(begin - arrival);
      return begin + took;
    });
    const span = Math.max(...free) - (arrivals[0] as number);
    arrivals = departures.sort((a, b) => a - b);
    waits.sort((a, b) => a - b);
    return {
      name,
      busy: worked / (span * servers),
      mean_us: waits.reduce((sum, wait) => sum + wait, 0) / messages,
      p99_us: waits[Math.ceil(messages * 0.99) - 1] as number,
    };
  });
}

/** Numbers from 0 to 1 that are the same each time (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Single-threaded processes of each stage that a rate needs, with none busier than {@link BUSY}. */
export function needed(rate: number, cost: Record<Stage, number> = COST): Record<Stage, number> {
  const processes = (us: number) => Math.max(1, Math.ceil((rate * us) / 1e6 / BUSY));
  return Object.fromEntries(STAGES.map((stage) => [stage, processes(cost[stage])])) as Record<Stage, number>;
}

/** The stage that a pipeline with one process of each reaches its end at first, and the rate then, messages/s. */
export function limit(cost: Record<Stage, number> = COST): { stage: Stage; rate: number } {
  const stage = STAGES.reduce((worst, one) => (cost[one] > cost[worst] ? one : worst));
  return { stage, rate: 1e6 / cost[stage] };
}

const MESSAGES = 200_000;

function report(rate: number, cost: Record<Stage, number>): string[] {
  const processes = needed(rate, cost);
  // A message goes to the process that its connection, shard or topic chooses, free or not: each has a queue of its own.
  const waits = STAGES.map((name) => {
    const station = { name, servers: 1, service_us: cost[name], spread: 'exponential' as const };
    return simulate([station], rate / processes[name], MESSAGES, seeded(1))[0] as Waits;
  });
  const cores = STAGES.reduce((sum, stage) => sum + (rate * cost[stage]) / 1e6, 0);
  return [
    `${rate.toLocaleString('en')} messages/s: ${cores.toFixed(1)} cores`,
    ...waits.map(
      ({ name, busy, mean_us, p99_us }) =>
        `  ${name.padEnd(10)} ${String(processes[name as Stage]).padStart(4)} × ${Math.round(busy * 100)} % busy   waits ${mean_us.toFixed(0)} µs, p99 ${p99_us.toFixed(0)} µs`,
    ),
  ];
}

function costs(text: string): Record<Stage, number> {
  const cost: Record<Stage, number> = { ...COST };
  for (const part of text.split(',')) {
    const [stage, us] = part.split('=');
    const known = STAGES.find((name) => name === stage);
    if (known === undefined || !(Number(us) > 0)) {
      throw new ConfigError(
        `--cost has "${part}"; allowed: ${STAGES.join(', ')}, each =µs of CPU a message, above 0`,
      );
    }
    cost[known] = Number(us);
  }
  return cost;
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { cost: { type: 'string' } },
  });
  const cost = values.cost === undefined ? COST : costs(values.cost);
  const rates = positionals.length === 0 ? [10_000, 100_000, 1_000_000] : positionals.map(Number);
  const wrong = positionals.find((_, i) => !((rates[i] as number) >= 1 && (rates[i] as number) <= 1e7));
  if (wrong !== undefined)
    throw new ConfigError(`"${wrong}" is no rate; allowed: 1 to 10,000,000 messages/s`);
  const { stage, rate } = limit(cost);
  console.log(`one process each: ${stage} is full at ${Math.floor(rate).toLocaleString('en')} messages/s`);
  for (const one of rates) for (const line of report(one, cost)) console.log(line);
}

if (isEntry(import.meta)) {
  try {
    main();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
