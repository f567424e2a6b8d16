import { ConfigError, withoutPassword } from '../shared/read-config.ts';
import type { Logger } from './log.ts';

/** Spans of messages, for whoever has set OpenTelemetry's variables. */
export interface Spans {
  /** The time now, for the methods below: ms since 1970, with a fraction. */
  now(): number;
  /**
   * A request whose messages go to the queue: a server span, and below it the producer's. undefined: its trace is not sampled.
   * @param trace what `traceOf` (queue/frame.ts) returned
   * @param from when it was received
   */
  request(trace: string, from: number, messages: number): SpanOf | undefined;
  /**
   * A message that is published: a consumer span, and below it the producer's. undefined: its trace is not sampled.
   * @param from when it was claimed
   * @param id the message's; undefined: not known
   */
  message(trace: string, from: number, topic: string, id: string | undefined): SpanOf | undefined;
  /** Exports what is left, within a second. */
  close(): Promise<void>;
}

export interface SpanOf {
  /** The context of the producer's span, as `traceOf` (queue/frame.ts) writes it. */
  trace: string;
  /** Ends both. */
  end(error?: string): void;
}

/** The protocol and the exporter that ingest and relay have. */
const PROTOCOL = 'http/protobuf';
const EXPORTER = 'otlp';

/** The collector that OpenTelemetry's variables name; undefined: none. Throws a {@link ConfigError} for a setting that would be ignored. */
function collectorOf(env: NodeJS.ProcessEnv): string | undefined {
  const [name = '', endpoint] = setOf(
    env,
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  );
  if (endpoint === undefined || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  const exporter = env.OTEL_TRACES_EXPORTER || EXPORTER;
  if (exporter === 'none') return undefined;
  if (exporter !== EXPORTER)
    throw new ConfigError(
      `OTEL_TRACES_EXPORTER is ${JSON.stringify(exporter)}; allowed: ${EXPORTER} or none`,
    );
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ConfigError(
      `${name} is ${JSON.stringify(withoutPassword(endpoint))}; allowed: the address of a collector, like http://host:4318`,
    );
  const [of = '', protocol = PROTOCOL] = setOf(
    env,
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
  );
  if (protocol !== PROTOCOL)
    throw new ConfigError(
      `${of} is ${JSON.stringify(protocol)}; allowed: ${PROTOCOL}, which collectors take at port 4318`,
    );
  return endpoint;
}

/** The first of these variables that is set, and its value. */
function setOf(env: NodeJS.ProcessEnv, ...names: string[]): [name?: string, value?: string] {
  const name = names.find((each) => env[each]);
  return name === undefined ? [] : [name, env[name] as string];
}

/** The spans of a process; undefined where no collector is set. Only then OpenTelemetry's SDK is loaded. */
export async function openSpans(service: string, name: string, log: Logger): Promise<Spans | undefined> {
  const endpoint = collectorOf(process.env);
  if (endpoint === undefined) return undefined;
  const { ExportedSpans } = await import('./exported-spans.ts');
  log.info(`the spans of sampled requests go to ${endpoint.replace(/\/\/[^/@]*@/, '//')}`);
  return new ExportedSpans(service, name, log);
}
