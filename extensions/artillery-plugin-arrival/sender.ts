/** Hooks into the requests of Artillery's HTTP engine: the n-th virtual user sends the n-th request of the schedule. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { trustText } from '../../pipeline/trust.ts';
import { bodyOf } from './messages.ts';
import type { Options } from './options.ts';
import { Pacer, type Slot } from './pacer.ts';
import { findPipeline, headersOf, type Pipeline } from './pipeline.ts';
import { channelOf, monotonic, type Told } from './thread.ts';

/** ms; Artillery's timers tick in whole milliseconds, so a virtual user starts so long before its request is due. */
const LEAD = 10;
/** As k6's when a threshold is crossed. */
const NOT_PASSED = 99;

export interface Script {
  config: Record<string, unknown>;
  scenarios: Record<string, unknown>[];
}

interface RequestParams {
  uuid: string;
  url?: string;
  headers?: Record<string, string>;
  json?: unknown;
}
interface Events {
  on(name: string, listener: (...args: never[]) => void): void;
  emit(name: string, ...args: unknown[]): void;
}
type Next = (error?: Error) => void;

export class Sender {
  readonly #run: string;
  readonly #options: Options;
  readonly #pacer: Pacer;
  readonly #channel;
  readonly #pipeline: Promise<Pipeline>;
  readonly #setExitCode: (code: number) => void;
  /** Requests under way, by the id that Artillery gives them. */
  readonly #underWay = new Map<string, number>();
  #events: Events | undefined;
  #next = 0;
  /** µs of the monotonic clock: t = 0 of the schedule */
  #epoch = 0;
  #over = false;
  #onOver: (() => void) | undefined;

  constructor(run: string, options: Options, setExitCode: (code: number) => void) {
    this.#run = run;
    this.#options = options;
    this.#pacer = new Pacer(options.phases, options.flows);
    this.#setExitCode = setExitCode;
    this.#pipeline = findPipeline(process.env).then((pipeline) => {
      if (pipeline.ca !== '') trustText(pipeline.ca);
      return pipeline;
    });
    this.#channel = channelOf(run);
    this.#channel.onmessage = (event) => this.#hear((event as { data: Told }).data);
  }

  /** Adds the hooks to all scenarios. */
  attach(script: Script): void {
    script.config.processor = {
      ...(script.config.processor as object | undefined),
      arrivalBefore: (params: RequestParams, _context: unknown, events: Events, next: Next) => {
        this.#before(params, events).then(() => next(), next);
      },
      arrivalHold: (_context: unknown, _events: Events, next: Next) => this.#hold(next),
    };
    for (const scenario of script.scenarios) {
      scenario.beforeRequest = [...names(scenario.beforeRequest), 'arrivalBefore'];
      scenario.afterScenario = [...names(scenario.afterScenario), 'arrivalHold'];
    }
  }

  async #before(params: RequestParams, events: Events): Promise<void> {
    const arrived = monotonic();
    const n = this.#next++;
    if (this.#events === undefined) this.#watch(events);
    if (n === 0) this.#start(arrived);
    if (n >= this.#pacer.requests) {
      this.#tell({ tell: 'beyond' });
      throw new Error('ARRIVAL_BEYOND_SCHEDULE');
    }
    const slot = this.#pacer.slot(n);
    const pipeline = await this.#pipeline;
    const { messages } = slot;
    params.url = `${pipeline.ingest.url}${messages === 1 ? '/messages' : '/messages/batch'}`;
    params.headers = { ...params.headers, ...headersOf(pipeline) };
    params.json = this.#body(slot, params.json);
    const due = this.#epoch + slot.due * 1e6;
    // A timer may fire up to a millisecond before its time.
    for (let left = due - monotonic(); left > 0; left = due - monotonic()) await after(left / 1000);
    this.#underWay.set(params.uuid, n);
  }

  /** What the script says of a message, beside what the schedule does. */
  #body(slot: Slot, given: unknown): object {
    const flow = this.#options.flows[slot.flow];
    if (flow === undefined) throw new Error(`no flow ${slot.flow}`);
    return bodyOf(
      this.#run,
      this.#options.id,
      flow,
      slot,
      typeof given === 'object' && given !== null ? given : {},
    );
  }

  /** The first arrival comes one interval after its phase has begun; later phases may have longer ones. */
  #start(arrived: number): void {
    const intervals = this.#options.phases
      .filter(({ rate, rampTo }) => rate > 0 || rampTo > 0)
      .map(({ rate, rampTo }) => Math.min(1, 1 / Math.max(rate, Math.min(1, rampTo))));
    const [first = 0] = intervals;
    const lead = LEAD * 1000 + (Math.max(...intervals) - first) * 1e6;
    this.#epoch = arrived + lead - this.#pacer.slot(0).due * 1e6;
    this.#tell({ tell: 'start', epoch: this.#epoch });
  }

  /** What becomes of each request, as close to its socket as Artillery tells. */
  #watch(events: Events): void {
    this.#events = events;
    const settle = (uuid: string, tell: (n: number) => Told) => {
      const n = this.#underWay.get(uuid);
      if (n === undefined) return;
      this.#underWay.delete(uuid);
      this.#tell(tell(n));
    };
    events.on('trace:http:request', (_params: RequestParams, uuid: string) => {
      const n = this.#underWay.get(uuid);
      if (n !== undefined) this.#tell({ tell: 'sent', n, at: monotonic() });
    });
    events.on('trace:http:response', (answer: IncomingMessage & { req?: ClientRequest }, uuid: string) => {
      const status = answer.statusCode ?? 0;
      answer.once('end', () => settle(uuid, (n) => ({ tell: 'answer', n, at: monotonic(), status })));
    });
    events.on('trace:http:error', (error: NodeJS.ErrnoException, uuid: string) => {
      settle(uuid, (n) => ({
        tell: 'failed',
        n,
        at: monotonic(),
        class: error.code ?? error.name,
        message: error.message,
      }));
    });
  }

  /** The first virtual user stays until everything is in: Artillery ends when none is left, and takes no metrics then. */
  #hold(next: Next): void {
    if (this.#onOver !== undefined || this.#over) next();
    else this.#onOver = next;
  }

  #hear(told: Told): void {
    if (told.tell === 'latencies') {
      for (const ms of told.ms) this.#events?.emit('histogram', 'arrival.latency', ms);
    } else if (told.tell === 'end') {
      const { scheduled, balanced, requests, deliveries, ...counts } = told.account;
      for (const [name, count] of Object.entries({ scheduled, ...counts })) {
        this.#events?.emit('counter', `arrival.${name}`, count);
      }
      this.#events?.emit('counter', 'arrival.invalid', told.result === 'invalid' ? 1 : 0);
      if (told.result !== 'pass') this.#setExitCode(NOT_PASSED);
      this.#over = true;
      this.#onOver?.();
    }
  }

  #tell(told: Told): void {
    this.#channel.postMessage(told);
  }
}

function names(hooks: unknown): unknown[] {
  return hooks === undefined ? [] : [hooks].flat();
}

function after(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
