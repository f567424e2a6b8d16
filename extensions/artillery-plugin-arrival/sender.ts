/**
 * Hooks into the requests of Artillery's HTTP engine. In the open model the n-th virtual user sends the n-th request of the
 * schedule; in the closed one whoever is about to send takes the next one when it is its turn.
 */
import type { IncomingMessage } from 'node:http';
import { Alarm } from './alarm.ts';
import { type Options, stepsOf, type Table } from './options.ts';
import { failureOf } from './outcome.ts';
import { findPipeline, headersOf } from './pipeline.ts';
import type { Script } from './script.ts';
import { Slots } from './slots.ts';
import { monotonic, openChannel, type Said, type Slot } from './thread.ts';

/**
 * ms by which a virtual user starts before its request is due: Artillery prepares each request, its timers tick in whole milliseconds,
 * and it does not make up for what once held it up, so that all that follows is late by as much.
 */
const LEAD = 1000;
/** ms between two looks whether the load is over */
const LOOK = 100;
/** µs without a request after the end of the schedule, from which on none is expected any more */
const QUIET = 10e6;
/** The function of a loop in the closed model. */
const TURN = 'arrivalTurn';

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
  body?: string;
}
interface Events {
  on(name: string, listener: (...args: never[]) => void): void;
  emit(name: string, ...args: unknown[]): void;
}
type Next = (error?: Error) => void;

export class Sender {
  readonly #options: Options;
  readonly #slots: Slots;
  readonly #alarm = new Alarm();
  readonly #channel = openChannel();
  readonly #pipeline = findPipeline(process.env);
  /** What virtual users were granted that are about to loop. */
  readonly #granted = new Map<Context, Slot>();
  /** Requests that virtual users have, by the id that Artillery gives them. */
  readonly #underWay = new Map<string, { n: number; left: boolean }>();
  /** For the recorder, when this turn of the event loop is over. */
  #lines = '';
  #events: Events | undefined;
  /** µs; when the schedule is over, once it has begun */
  #end = Number.POSITIVE_INFINITY;
  /** µs; when a virtual user came or a request left or was settled, the last time */
  #moved = 0;
  #started = false;
  #resultIsIn = false;
  #release: (() => void) | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#slots = new Slots(options.closed, options.largest, (line) => this.#say(line));
    this.#channel.onmessage = (event) => this.#hear((event as { data: Said }).data);
  }

  /** Adds the hooks to all scenarios. */
  attach(script: Script): void {
    const hooks: Record<string, unknown> = {
      ...(script.config.processor as object | undefined),
      arrivalBefore: (params: RequestParams, context: Context, events: Events, next: Next) => {
        this.#before(params, context, events).then(() => next(), next);
      },
      arrivalHold: (_context: unknown, _events: Events, next: Next) => this.#hold(next),
    };
    for (const scenario of script.scenarios) {
      scenario.beforeRequest = [...names(scenario.beforeRequest), 'arrivalBefore'];
      scenario.afterScenario = [...names(scenario.afterScenario), 'arrivalHold'];
      for (const loop of stepsOf(scenario.flow as Table[])) {
        if (loop.whileTrue === TURN) loop.whileTrue = this.#addTurn(hooks, loop.loop as Table[]);
      }
    }
    script.config.processor = hooks;
  }

  /**
   * What a loop of the closed model asks before it goes round again: the turn of the post that comes first in it.
   * @returns the name of the hook
   */
  #addTurn(hooks: Record<string, unknown>, loop: Table[]): string {
    const first = stepsOf(loop).find(({ post }) => post !== undefined)?.post as Table | undefined;
    const flow = first?.name as string | undefined;
    const name = flow === undefined ? TURN : `${TURN} ${flow}`;
    hooks[name] = (context: Context, next: (goOn: boolean) => void) => {
      this.#start();
      this.#slots.next(flow).then((slot) => {
        if (slot !== undefined) this.#granted.set(context, slot);
        next(slot !== undefined);
      });
    };
    return name;
  }

  async #before(params: RequestParams, context: Context, events: Events): Promise<void> {
    this.#moved = monotonic();
    if (this.#events === undefined) this.#watch(events);
    this.#start();
    const { closed } = this.#options;
    const slot = this.#granted.get(context) ?? (await this.#slots.next(closed ? params.name : undefined));
    this.#granted.delete(context);
    if (slot === undefined) throw new Error(closed ? 'ARRIVAL_OVER' : 'ARRIVAL_BEYOND_SCHEDULE');
    this.#underWay.set(params.uuid, { n: slot.n, left: false });
    const pipeline = await this.#pipeline;
    const { token } = context.vars;
    params.url = `${pipeline.ingest.url}${slot.path}`;
    params.headers = {
      ...params.headers,
      ...headersOf(pipeline, typeof token === 'string' ? token : undefined),
    };
    if (typeof params.json === 'object' && params.json !== null) {
      params.json = withFields(slot.body, params.json);
    } else {
      params.json = undefined;
      params.body = slot.body;
    }
    if (!closed) params.cookieJar = this.#waitingJar(slot.due_us, params.cookieJar);
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

  /**
   * Begins the schedule when the first virtual user comes, or when the recorder is ready. The first one of a phase comes an interval
   * after the phase has begun, and later phases may have longer ones.
   */
  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const ahead = Math.ceil((LEAD + this.#options.spread) * 1000);
    this.#say({ start: this.#options.closed ? true : { in_us: ahead } });
  }

  /** What becomes of each request, as close to its socket as Artillery's events allow. */
  #watch(events: Events): void {
    this.#events = events;
    const settle = (uuid: string, outcome: object) => {
      const request = this.#underWay.get(uuid);
      this.#underWay.delete(uuid);
      // A request that never left is not settled: the recorder drops it.
      if (request?.left) this.#say({ settled: request.n, at_us: this.#now(), ...outcome });
    };
    events.on('trace:http:request', (_params: RequestParams, uuid: string) => {
      const request = this.#underWay.get(uuid);
      if (request === undefined || request.left) return; // it follows a redirect
      request.left = true;
      this.#say({ sent: request.n, at_us: this.#now() });
    });
    events.on('trace:http:response', (answer: IncomingMessage, uuid: string) => {
      answer.once('end', () => settle(uuid, { status: answer.statusCode }));
    });
    events.on('trace:http:error', (error: NodeJS.ErrnoException, uuid: string) => {
      settle(uuid, failureOf(error));
    });
  }

  /** The first virtual user stays until everything is in: Artillery ends when none is left, and takes no metrics then. */
  #hold(next: Next): void {
    if (this.#release !== undefined || this.#resultIsIn) next();
    else this.#release = next;
  }

  #hear(said: Said): void {
    if ('slots' in said) {
      this.#slots.hear(said.slots);
    } else if ('started' in said) {
      this.#end = said.started.epoch_us + this.#options.length * 1e6;
      const look = setInterval(() => {
        if (!this.#loadIsOver()) return;
        clearInterval(look);
        this.#say({ end: true });
      }, LOOK);
    } else if ('progress' in said) {
      for (const ms of said.progress.latencies_ms) this.#events?.emit('histogram', 'arrival.latency', ms);
    } else if ('summary' in said) {
      const { scheduled, balanced, requests, deliveries, ...counts } = said.account;
      for (const [name, count] of Object.entries({ scheduled, ...counts })) {
        this.#events?.emit('counter', `arrival.${name}`, count);
      }
      this.#events?.emit('counter', 'arrival.invalid', said.verdict.result === 'invalid' ? 1 : 0);
      this.#resultIsIn = true;
      this.#release?.();
    }
  }

  /** Whether nothing more will be sent, and all that was has been answered. */
  #loadIsOver(): boolean {
    const over = this.#slots.over || (this.#options.closed && monotonic() > this.#end);
    if (over && this.#underWay.size === 0 && this.#granted.size === 0) return true;
    // Virtual users may be fewer than requests, or give up before they send.
    const quiet = monotonic() > Math.max(this.#end, this.#moved) + QUIET;
    return quiet && ![...this.#underWay.values()].some(({ left }) => left);
  }

  #now(): number {
    this.#moved = monotonic();
    return Math.floor(this.#moved);
  }

  #say(line: object): void {
    if (this.#lines === '') {
      setImmediate(() => {
        this.#channel.postMessage(this.#lines);
        this.#lines = '';
      });
    }
    this.#lines += `${JSON.stringify(line)}\n`;
  }
}

/** The messages of a body, with what the script says of each: its own payload, and fields beside those of the schedule. */
export function withFields(body: string, given: object): object {
  const add = ({ payload, ...fixed }: { payload: unknown }) => ({ payload, ...given, ...fixed });
  const messages = JSON.parse(body);
  return Array.isArray(messages) ? messages.map(add) : add(messages);
}

function names(hooks: unknown): unknown[] {
  return hooks === undefined ? [] : [hooks].flat();
}
