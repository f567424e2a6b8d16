import type { Logger } from './log.ts';

/** Spans of messages, for whoever has set OpenTelemetry's variables. */
export interface Spans {
  /** The time now, for the methods below: ms since 1970, with a fraction. */
  now(): number;
  /**
   * A request whose messages go to the queue: a server span, and below it the producer's. undefined: its trace is not sampled.
   * @param trace `traceOf` of trace-context.ts
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
  /** The context of the producer's span, in the form of trace-context.ts. */
  trace: string;
  /** Ends both. */
  end(error?: string): void;
}

/** The spans of a process; undefined where no collector is set. Only then OpenTelemetry's SDK is loaded. */
export async function openSpans(service: string, name: string, log: Logger): Promise<Spans | undefined> {
  const { env } = process;
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint || env.OTEL_SDK_DISABLED === 'true') return undefined;
  const { ExportedSpans } = await import('./exported-spans.ts');
  log.info(`the spans of sampled requests go to ${endpoint.replace(/\/\/[^/@]*@/, '//')}`);
  return new ExportedSpans(service, name, (problem) => log.warn(`spans are lost: ${problem}`));
}
