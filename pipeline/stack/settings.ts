import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TProperties, Type } from '@sinclair/typebox';
import { commandOf } from '../shared/command.ts';
import { ConfigError, IngestConfig, RelayConfig, readConfig, StackConfig } from '../shared/config.ts';
import { readAffinity } from './affinity.ts';
import type { StackFile } from './file.ts';

/** The file of the ingest's tokens, in the stack's directory. */
export const TOKENS = 'ingest.tokens';

/** Settings of ingest and relay that the stack sets; it passes on the others. */
export const STACK_SETTINGS = new Set([
  ...Object.keys(StackConfig.properties),
  ...['PROCESS_NAME', 'HEALTH_PORT', 'INGEST_HOST', 'INGEST_SHARED_PORT', 'INGEST_TOKENS_FILE'],
  ...['INGEST_TLS_CERT', 'INGEST_TLS_KEY'],
]);

/** Settings that each run reads for itself: addresses, authorities, token. */
const RUN_SETTINGS = new Set(['STACK_DIR', 'TLS_CA', 'REDIS_URL', 'MQTT_URL', 'INGEST_TOKEN']);

const without = (properties: TProperties, names: ReadonlySet<string>): TProperties =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name)));

/** The settings that distinguish pipelines: of the stack, of each ingest and each relay. */
const PipelineConfig = Type.Object({
  ...without({ ...IngestConfig.properties, ...RelayConfig.properties }, STACK_SETTINGS),
  ...without(StackConfig.properties, RUN_SETTINGS),
});
const NAMES = Object.keys(PipelineConfig.properties);

export type Settings = Record<string, string | number | boolean>;

/** The settings of a stack, without secrets. */
export function settingsOf(ingest: IngestConfig, relay: RelayConfig, stack: StackConfig): Settings {
  const all = { ...ingest, ...relay, ...stack } as Partial<Settings>;
  return Object.fromEntries(NAMES.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
}

/**
 * Throws a {@link ConfigError} when the settings of the environment differ from those of the running pipeline, which a run would measure.
 */
export function checkSettings(dir: string, up: StackFile, env: NodeJS.ProcessEnv = process.env): void {
  const asked = readConfig(PipelineConfig, env) as Partial<Settings>;
  const given = NAMES.filter((name) => env[name]);
  const different = given.filter((name) => differs(name, asked[name], upValue(name, up)));
  const rows = different.map((name) => `${asked[name]} asked for, ${upValue(name, up) ?? 'nothing'} up`);
  if (env.INGEST_TOKEN && !tokensOf(dir, up).includes(env.INGEST_TOKEN)) {
    different.push('INGEST_TOKEN');
    rows.push('another one asked for than the ingest takes');
  }
  if (different.length === 0) return;
  throw new ConfigError(
    [
      `the pipeline that is up (pid ${up.pid}) is not the one that is asked for:`,
      ...different.map((name, i) => `  ${name.padEnd(20)}${rows[i]}`),
      `stop it with Ctrl-C where it runs and start it with: ${restart(up.settings, different, env)}`,
      'or leave these settings out',
    ].join('\n'),
  );
}

/** A default that depends on the topology is in the facts. */
function upValue(name: string, { settings, facts }: StackFile): Settings[string] | undefined {
  return name === 'INGEST_WORKERS' ? facts.ingest_workers : settings[name];
}

function differs(
  name: string,
  asked: Settings[string] | undefined,
  up: Settings[string] | undefined,
): boolean {
  if (name === 'CPU_AFFINITY') return ofPipeline(asked) !== ofPipeline(up);
  // 0 is any free port.
  if (name.endsWith('_PORT') && asked === 0) return false;
  return asked !== up;
}

/** CPUs of the processes of the pipeline: those of k6 are the run's. */
function ofPipeline(affinity: Settings[string] | undefined): string {
  const all = [...readAffinity(affinity?.toString())];
  return all
    .filter(([component]) => component !== 'k6')
    .map((pair) => pair.join('='))
    .sort()
    .join(' ');
}

/** Tokens may be replaced while the pipeline is up. */
function tokensOf(dir: string, { ingest }: StackFile): string[] {
  try {
    return readFileSync(join(dir, TOKENS), 'utf8')
      .split('\n')
      .map((line) => line.trim());
  } catch {
    // A generator of a pipeline on another host has its stack.json alone.
    return [ingest.token];
  }
}

/** The command that starts what is asked for, and else the same; secrets are left out. */
function restart(settings: Settings, different: readonly string[], env: NodeJS.ProcessEnv): string {
  const kept = Object.entries(settings)
    .filter(([name, value]) => value !== PipelineConfig.properties[name]?.default)
    .map(([name, value]) => [name, String(value)]);
  const asked = [...different, 'STACK_DIR'].map((name) => [name, env[name]]);
  return commandOf('', [], 'pipeline', { env: Object.fromEntries([...kept, ...asked]) });
}
