/** Finds the pipeline: from the environment, else from the stack.json of `npm run pipeline`. */
import { join, resolve } from 'node:path';
import { RunConfig, readConfig } from '../../pipeline/shared/config.ts';
import { labelsOf } from '../../pipeline/shared/labels.js';
import { trust, trustText } from '../../pipeline/shared/trust.ts';
import { runningStack } from '../../pipeline/stack/file.ts';
import { IN_REPOSITORY, ROOT } from './place.ts';

/** The target of a script whose requests go to INGEST_URL, else to the pipeline that is up. */
export const PLACEHOLDER = 'http://arrival.invalid';

/** A wrong option. The message is one line: value, place, allowed values. */
export class OptionError extends Error {}

/** Options of the recorder. */
export interface Pipeline {
  ingest: { url: string; token?: string };
  mqtt: { url: string; username?: string; password?: string };
  /** Absent: there is none. */
  redis?: { url: string; prefix?: string };
  /** Certificates of authorities to trust, PEM. */
  ca: string;
  topology: string;
  network: string;
  labels: Record<string, string>;
  /** All of it is on the generator's host, although its addresses differ. */
  oneHost?: true;
  facts: Record<string, unknown>;
}

/**
 * Finds the pipeline, and makes this thread trust its authorities.
 * @throws {OptionError} where there is none
 */
export async function findPipeline(env: NodeJS.ProcessEnv): Promise<Pipeline> {
  const config = readConfig(RunConfig, env);
  const own = config.INGEST_URL !== undefined;
  const stack = own ? undefined : await stackOf(config);
  if (!own && stack === undefined) {
    throw new OptionError(
      IN_REPOSITORY
        ? 'no pipeline is up: start one with npm run pipeline, or set INGEST_URL and MQTT_URL'
        : 'INGEST_URL and MQTT_URL are not set; allowed: where the pipeline is',
    );
  }
  const mqtt = brokerOf(config, stack);
  if (mqtt === undefined) throw new OptionError('MQTT_URL is not set, and INGEST_URL is; allowed: both');
  const token = env.INGEST_TOKEN || stack?.ingest.token;
  return {
    ingest: {
      url: config.INGEST_URL ?? (stack?.ingest.url as string),
      ...(token !== undefined && { token }),
    },
    mqtt,
    ...surroundings(config, env, stack),
  };
}

/** The pipeline that is up; undefined: none is. */
export function stackOf({ STACK_DIR }: Config): Promise<Running> {
  return runningStack(resolve(ROOT, STACK_DIR));
}

/** The broker that the environment names, else that of the pipeline that is up. */
export function brokerOf(config: Config, stack: Running): Pipeline['mqtt'] | undefined {
  if (config.MQTT_URL !== undefined) return { url: config.MQTT_URL };
  return stack && { url: stack.mqtt.url, username: stack.mqtt.username, password: stack.mqtt.password };
}

type Config = ReturnType<typeof readConfig<typeof RunConfig>>;
type Running = Awaited<ReturnType<typeof runningStack>>;

/** Options that the recorder gets beside the places where messages are sent and arrive. */
export function surroundings(config: Config, env: NodeJS.ProcessEnv, stack: Running) {
  const redis = config.REDIS_URL ?? stack?.redis.url;
  const prefix =
    config.QUEUE_PREFIX ?? (config.REDIS_URL === undefined ? stack?.division?.prefix : undefined);
  if (stack?.ca) trustText(stack.ca);
  return {
    ...(redis !== undefined && { redis: { url: redis, ...(prefix !== undefined && { prefix }) } }),
    ca: `${stack?.ca ?? ''}${trust(config.TLS_CA)}`,
    topology: config.TOPOLOGY ?? stack?.topology ?? 'single',
    network: config.NETWORK,
    labels: labels(env.LABELS),
    ...(stack?.oneHost && { oneHost: true as const }),
    facts: stack?.facts ?? {},
  };
}

/** Options of the recorder that follow from the name of the script, and the version of Artillery. */
export function runOf(script: string, version: string, env: NodeJS.ProcessEnv) {
  return {
    name: script.replace(/(\.artillery)?\.\w+$/, '').replaceAll(/[^\w.]/g, '_'),
    tool: { name: 'artillery', version },
    clock: env.CLOCK_LIMIT ? { limit: env.CLOCK_LIMIT } : {},
    dir: env.RUN_DIR ?? '',
    runs: join(ROOT, 'reports/runs'),
    command: env.ARRIVAL_COMMAND ?? `artillery run ${script}`,
  };
}

function labels(text = ''): Record<string, string> {
  try {
    return labelsOf(text);
  } catch (error) {
    throw new OptionError((error as Error).message);
  }
}

/** Headers of a POST to the ingest, with the pipeline's token by default. */
export function headersOf({ ingest }: Pipeline, token = ingest.token): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
}
