/**
 * Hooks into the requests of Artillery's HTTP engine. In the open model the n-th virtual user sends the n-th request of the
 * schedule; in the closed one whoever is about to send takes the next one when it is its turn.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { trustText } from '../../pipeline/trust.ts';
import { Alarm } from './alarm.ts';
import { bodyOf } from './messages.ts';
import type { Options } from './options.ts';
import { Pacer } from './pacer.ts';
import { findPipeline, headersOf, type Pipeline } from './pipeline.ts';
import type { Slot } from './schedule.ts';
import { Taken } from './taken.ts';
import { channelOf, monotonic, type Told } from './thread.ts';
import { Turns } from './turns.ts';

/**
 * ms by which a virtual user starts before its request is due: Artillery prepares each request, its timers tick in whole milliseconds,
 * and it does not make up for what once held it up, so that all that follows is late by as much.
 */
const LEAD = 1000;
/** As k6's when a threshold is crossed. */
const NOT_PASSED = 99;

export interface Script {
  config: Record<string, unknown>;
  scenarios: Record<string, unknown>[];
}

interface Context {
  vars: Record<string, unknown>;
}
interface CookieJar {
  getCookieString(url: string): Promise<string>;
  setCookie(cookie: string, url: string): Promise<unknown>;
}
interface RequestParams {
  uuid: string;
  cookieJar?: CookieJar | undefined;
  name?: string;
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
  readonly #schedule: Pacer | Taken;
  readonly #alarm = new Alarm();
  readonly #turns = new Turns(() => this.#tell({ tell: 'idle' }));
  /** Phases that were granted to virtual users which are about to loop. */
  readonly #granted = new WeakMap<Context, number>();
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
    this.#schedule = new (options.closed ? Taken : Pacer)(options.phases, options.flows);
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
      arrivalBefore: (params: RequestParams, context: Context, events: Events, next: Next) => {
        this.#before(params, context, events).then(() => next(), next);
      },
      // What a loop of the closed model asks before it goes round again.
      arrivalTurn: (context: Context, next: (goOn: boolean) => void) => {
        this.#turns.next().then((phase) => {
          if (phase !== undefined) this.#granted.set(context, phase);
          next(phase !== undefined);
        });
      },
      arrivalHold: (_context: unknown, _events: Events, next: Next) => this.#hold(next),
    };
    for (const scenario of script.scenarios) {
      scenario.beforeRequest = [...names(scenario.beforeRequest), 'arrivalBefore'];
      scenario.afterScenario = [...names(scenario.afterScenario), 'arrivalHold'];
    }
  }

  async #before(params: RequestParams, context: Context, events: Events): Promise<void> {
    const arrived = monotonic();
    if (this.#events === undefined) this.#watch(events);
    const pipeline = await this.#pipeline;
    const slot =
      this.#schedule instanceof Taken
        ? await this.#take(this.#schedule, params, context)
        : this.#nextOf(this.#schedule, arrived);
    const { token } = context.vars;
    params.url = `${pipeline.ingest.url}${slot.messages === 1 ? '/messages' : '/messages/batch'}`;
    params.headers = {
      ...params.headers,
      ...headersOf(pipeline, typeof token === 'string' ? token : undefined),
    };
    params.json = this.#body(slot, params.json);
    if (!this.#options.closed)
      params.cookieJar = this.#waitingJar(this.#epoch + slot.due * 1e6, params.cookieJar);
    this.#underWay.set(params.uuid, slot.n);
  }

  /**
   * The last that Artillery's client asks for before it sends, after all else that it prepares, is cookies: so there it waits until
   * the request is due.
   */
  #waitingJar(due: number, jar: CookieJar | undefined): CookieJar {
    return {
      getCookieString: async (url) => {
        await this.#alarm.at(due);
        return (await jar?.getCookieString(url)) ?? '';
      },
      setCookie: async (cookie, url) => jar?.setCookie(cookie, url),
    };
  }

  /** The next request of the schedule. */
  #nextOf(pacer: Pacer, arrived: number): Slot {
    const n = this.#next++;
    if (n === 0) this.#start(pacer, arrived);
    if (n < pacer.requests) return pacer.slot(n);
    this.#tell({ tell: 'beyond' });
    throw new Error('ARRIVAL_BEYOND_SCHEDULE');
  }

  /** What is sent now, when it is this virtual user's turn. */
  async #take(taken: Taken, { name }: RequestParams, context: Context): Promise<Slot> {
    if (this.#epoch === 0) {
      this.#epoch = monotonic();
      this.#tell({ tell: 'start', epoch: this.#epoch });
    }
    const phase = this.#granted.get(context) ?? (await this.#turns.next());
    this.#granted.delete(context);
    if (phase === undefined) throw new Error('ARRIVAL_OVER');
    const flow = this.#options.flows.findIndex((known) => known.name === name);
    const slot = taken.take(phase, (monotonic() - this.#epoch) / 1e6, flow < 0 ? undefined : flow);
    this.#tell({ tell: 'take', phase, due: slot.due, flow: slot.flow });
    return slot;
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
  #start(pacer: Pacer, arrived: number): void {
    const intervals = this.#options.phases
      .filter(({ rate, rampTo }) => rate > 0 || rampTo > 0)
      .map(({ rate, rampTo }) => Math.min(1, 1 / Math.max(rate, Math.min(1, rampTo))));
    const [first = 0] = intervals;
    const lead = LEAD * 1000 + (Math.max(...intervals) - first) * 1e6;
    this.#epoch = arrived + lead - pacer.slot(0).due * 1e6;
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
      if (this.#options.closed) this.#turns.done();
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
    if (told.tell === 'turn') {
      this.#turns.begin(told.turn);
    } else if (told.tell === 'over') {
      this.#turns.end();
    } else if (told.tell === 'latencies') {
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
