import { hostname } from 'node:os';
import {
  trace as api,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { wallClockBase } from '../shared/clock.ts';
import { printable } from '../shared/printable.ts';
import { withAdvice } from '../shared/trust.ts';
import type { Logger } from './log.ts';
import type { SpanOf, Spans } from './spans.ts';
import { Trouble } from './trouble.ts';

/** ms between exports: a run waits 6 s for the last spans. */
const EXPORT_MS = 1000;
/** ms that the last export may take. */
const LAST_MS = 1000;
/** ms between two lines of the log about the same of the SDK. */
const AGAIN_MS = 60_000;
/** Characters of a text of the SDK or the collector that are shown. */
const LONGEST = 300;

/** Spans by OpenTelemetry's SDK and semantic conventions. Only sampled traces have any; the process begins none itself. */
export class ExportedSpans implements Spans {
  readonly #base = wallClockBase();
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor(service: string, name: string, log: Pick<Logger, 'info' | 'warn'>) {
    const quiet = () => {};
    const say = sayingOnce(log);
    diag.setLogger(
      { error: say, warn: say, info: quiet, debug: quiet, verbose: quiet },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    const ours = resourceFromAttributes({
      'service.name': service,
      'service.instance.id': name,
      'host.name': hostname(),
    });
    this.#provider = new TracerProvider({
      resource: ours.merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: watched(new OTLPTraceExporter(), new Trouble(log, 'spans are exported again')),
          scheduledDelayMillis: EXPORT_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('arrival');
  }

  /** The SDK itself begins spans at whole ms. */
  now(): number {
    return (this.#base + performance.now() * 1000) / 1000;
  }

  request(trace: string, from: number, messages: number): SpanOf | undefined {
    const parent = contextOf(trace);
    if (parent === undefined) return undefined;
    const queued = this.now(); // making spans takes some 20 µs
    const server = this.#tracer.startSpan(
      'POST /messages',
      { kind: SpanKind.SERVER, startTime: hrTime(from), attributes: { 'http.request.method': 'POST' } },
      parent,
    );
    return this.#above(server, parent, 'send messages', queued, {
      'messaging.system': 'redis',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'send',
      'messaging.destination.name': 'messages',
      'messaging.batch.message_count': messages,
    });
  }

  message(trace: string, from: number, topic: string, id: string | undefined): SpanOf | undefined {
    const parent = contextOf(trace);
    if (parent === undefined) return undefined;
    const published = this.now();
    const message = id === undefined ? {} : { 'messaging.message.id': id };
    const consumer = this.#tracer.startSpan(
      'process messages',
      {
        kind: SpanKind.CONSUMER,
        startTime: hrTime(from),
        attributes: {
          'messaging.system': 'redis',
          'messaging.operation.type': 'process',
          'messaging.operation.name': 'process',
          'messaging.destination.name': 'messages',
          ...message,
        },
      },
      parent,
    );
    return this.#above(consumer, parent, 'send to the broker', published, {
      'messaging.system': 'mqtt',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'publish',
      'messaging.destination.name': topic,
      ...message,
    });
  }

  async close(): Promise<void> {
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, LAST_MS).unref();
    });
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
  }

  /** A producer's span below another one. */
  #above(
    upper: Span,
    parent: Context,
    name: string,
    from: number,
    attributes: Record<string, string | number>,
  ): SpanOf {
    const options = { kind: SpanKind.PRODUCER, startTime: hrTime(from), attributes };
    const producer = this.#tracer.startSpan(name, options, api.setSpan(parent, upper));
    const { traceId, spanId } = producer.spanContext();
    const { traceState } = api.getSpanContext(parent) ?? {};
    const state = traceState?.serialize();
    return {
      trace: `00-${traceId}-${spanId}-01${state ? ` ${state}` : ''}`,
      end: (error) => {
        const at = hrTime(this.now());
        for (const span of [producer, upper]) {
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end(at);
        }
      },
    };
  }
}

/** An exporter that says by `trouble` that spans are lost. The SDK would print a stack at each export. */
function watched(exporter: SpanExporter, trouble: Trouble): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        if (code === SUCCESS) trouble.end();
        else trouble.begin({ problem: `spans are lost: ${reasonOf(error)}`, kind: 'shared' });
        done({ code: SUCCESS });
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** ExportResultCode of @opentelemetry/core. */
const SUCCESS = 0;

/** Why an export failed. An error with several causes, as of a name with two addresses, has no message of its own. */
function reasonOf(error: (Error & { code?: unknown; data?: unknown }) | undefined): string {
  if (error === undefined) return 'the collector does not take them';
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const message = error.message || causes.map((cause) => cause.message).join(', ');
  const status = typeof error.code === 'number' ? `HTTP ${error.code}: ` : '';
  return printable(`${status}${withAdvice(message)}`.slice(0, LONGEST));
}

/** Writes what the SDK says, without stacks, and the same once in a while: it repeats itself with each export. */
function sayingOnce(log: Pick<Logger, 'warn'>): (text: string, ...more: unknown[]) => void {
  const said = new Map<string, number>();
  return (text, ...more) => {
    const kind = text.replace(/\d+/g, '');
    const now = performance.now();
    if (now - (said.get(kind) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    said.set(kind, now);
    const line = [messageIn(text), ...more.map(String)].join(' ').split('\n')[0] ?? '';
    log.warn(`spans: ${printable(line.slice(0, LONGEST))}`);
  };
}

/** The message of an error that the SDK has written as JSON; else the text. */
function messageIn(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    return String(JSON.parse(text).message ?? text);
  } catch {
    return text;
  }
}

/** The context of a sampled trace. */
function contextOf(trace: string): Context | undefined {
  const [, traceId, spanId, flags = ''] = trace.slice(0, 55).split('-');
  if (!(Number.parseInt(flags, 16) & TraceFlags.SAMPLED)) return undefined;
  if (traceId === undefined || spanId === undefined) return undefined;
  const state = trace.indexOf(' ');
  return api.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    ...(state > 0 && { traceState: kept(trace.slice(state + 1)) }),
  });
}

/** A tracestate that is only passed on. */
function kept(text: string) {
  const state = { get: () => undefined, set: () => state, unset: () => state, serialize: () => text };
  return state;
}

/** Seconds and ns, as the SDK takes times that it must not round. */
function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
