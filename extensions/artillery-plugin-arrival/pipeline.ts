/** Where the pipeline is: what the environment says, else what `npm run pipeline` has written. */
import { resolve } from 'node:path';
import { RunConfig, readConfig } from '../../pipeline/config.ts';
import { runningStack } from '../../pipeline/stack/file.ts';
import type { PipelineFacts } from '../../reports/run.ts';
import { labelsOf } from '../../scenarios/lib/labels.js';
import { OptionError } from './options.ts';

export interface Pipeline {
  ingest: { url: string; token: string | undefined };
  mqtt: { url: string; username?: string; password?: string };
  redis: string;
  /** Certificates of authorities to trust, PEM. */
  ca: string;
  topology: string;
  network: string;
  labels: Record<string, string>;
  /** All of it is on the generator's host, and has its clock. */
  oneHost: boolean;
  /** Its ingest is, and shares its cores. */
  sharedHost: boolean;
  facts: PipelineFacts | null;
}

const ROOT = resolve(import.meta.dirname, '../..');

/** @throws {OptionError} where there is none */
export async function findPipeline(env: NodeJS.ProcessEnv): Promise<Pipeline> {
  const config = readConfig(RunConfig, env);
  const own = config.INGEST_URL !== undefined;
  const stack = own ? undefined : await runningStack(resolve(ROOT, config.STACK_DIR));
  if (!own && stack === undefined) {
    throw new OptionError(
      'no pipeline is up: start one with npm run pipeline, or set INGEST_URL, MQTT_URL and REDIS_URL',
    );
  }
  const need = (name: 'INGEST_URL' | 'MQTT_URL' | 'REDIS_URL', ours: string | undefined): string => {
    const url = config[name] ?? ours;
    if (url === undefined) throw new OptionError(`${name} is not set, and INGEST_URL is; allowed: all three`);
    return url;
  };
  const mqtt = need('MQTT_URL', stack?.mqtt.url);
  const ingest = need('INGEST_URL', stack?.ingest.url);
  const redis = need('REDIS_URL', stack?.redis.url);
  return {
    ingest: { url: ingest, token: env.INGEST_TOKEN || stack?.ingest.token },
    mqtt: {
      url: mqtt,
      ...(config.MQTT_URL === undefined &&
        stack && { username: stack.mqtt.username, password: stack.mqtt.password }),
    },
    redis,
    ca: stack?.ca ?? '',
    topology: config.TOPOLOGY ?? stack?.topology ?? 'single',
    network: config.NETWORK,
    labels: labels(env.LABELS),
    oneHost: stack?.oneHost ?? [ingest, mqtt, redis].every(isLoopback),
    sharedHost: stack?.oneHost ?? isLoopback(ingest),
    facts: stack?.facts ?? null,
  };
}

function labels(text = ''): Record<string, string> {
  try {
    return labelsOf(text);
  } catch (error) {
    throw new OptionError((error as Error).message);
  }
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

/** Headers of a POST to the ingest. `token`: in the place of the pipeline's. */
export function headersOf({ ingest }: Pipeline, token = ingest.token): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
}
