/** Rides along with a script in a sending thread of Artillery: marks the requests that carry messages, times them, and tells the recorder. */
import type { Artillery } from '../artillery.ts';
import { type Hook, reporting } from '../hooks.ts';
import type { Events } from '../in-flight.ts';
import { InFlight } from '../in-flight.ts';
import { failureOf } from '../outcome.ts';
import { OptionError } from '../pipeline.ts';
import type { RequestParams } from '../request.ts';
import type { Script } from '../script.ts';
import type { Table } from '../table.ts';
import { type Answer, askReady, monotonic, openChannel, type Ready } from '../thread.ts';
import { type Due, Session, watchPhases } from './due.ts';
import { holds, holdsFor, METHODS, putId, type Rule, sendingWithId } from './messages.ts';
import { flowOf, PLACEHOLDER, type RideOptions, thinkTime } from './options.ts';
import { follow, OURS, type Request } from './steps.ts';
import { Telling } from './telling.ts';
import { type Figures, watchWorker } from './worker.ts';

interface Context {
  vars: Record<string, unknown>;
  funcs: { $template(text: unknown): unknown };
}
type Next = (error?: unknown) => void;

/** A request of the script that may carry a message. */
interface Candidate {
  flow: string;
  /** Rules of which only the run can say whether they hold; empty: it carries one. */
  open: Rule[];
  /** It is due when its step begins; else, in a loop of parallel steps, when it comes. */
  timed: boolean;
}

/** The variable `$arrival` of a virtual user: its last message. */
interface Message {
  number: number;
  id: string | number;
  /** What a send or emit sends. */
  sent?: unknown;
}

export class Rider {
  readonly #options: RideOptions;
  readonly #channel = openChannel();
  readonly #ready: Ready;
  readonly #inFlight: InFlight;
  readonly #sessions = new WeakMap<Context, Session>();
  readonly #candidates: Candidate[] = [];
  readonly #functions: Record<string, unknown>;
  readonly #telling: Telling;
  /** Of several threads the first reports the figures of all. */
  readonly #isFirst: boolean;
  /** Think times vary by default. */
  readonly #jitter: boolean;
  /** The pipeline's, for a script that has no target of its own. */
  #token: string | undefined;
  #events: Events | undefined;
  /** Latencies that came when Artillery took no metrics: at first, and at the end. */
  readonly #latencies: number[] = [];
  #done: ((figures: Figures) => void) | undefined;

  /** Waits until the recorder is ready, so that no phase begins before its subscriptions hold. */
  constructor(options: RideOptions, script: Script, artillery: Artillery) {
    this.#options = options;
    const { http, defaults } = script.config as { http?: { defaults?: Table }; defaults?: Table };
    const think = (http?.defaults?.think ?? defaults?.think ?? {}) as Table;
    this.#jitter = think.jitter !== undefined;
    this.#functions = { ...(script.config.processor as object | undefined) };
    for (const rule of options.rules) {
      if ('function' in rule && typeof this.#functions[rule.function] !== 'function')
        throw new OptionError(
          `config.plugins.arrival.messages has the function ${rule.function}, which config.processor does not have; allowed: ${Object.keys(this.#functions).join(', ') || 'none, as it has no function'}`,
        );
    }
    const [{ worker = 1, totalWorkers = 1 } = {}] = (script.config.phases ?? []) as Table[];
    this.#isFirst = Number(worker) === 1;
    this.#ready = askReady(this.#channel);
    const telling = new Telling(this.#channel, this.#ready.ids, Number(worker) - 1, Number(totalWorkers));
    this.#telling = telling;
    this.#inFlight = new InFlight(Number.POSITIVE_INFINITY, (line) => telling.send(line));
    this.#channel.onmessage = (event) => this.#onAnswer((event as { data: Answer | string }).data);
    watchPhases(artillery, this.#attach(script));
    watchWorker(
      artillery.store(),
      () => telling.begin(),
      () => this.#end(),
    );
  }

  /** Adds functions to the steps of the script. @returns whether a scenario with messages connects before its first step */
  #attach(script: Script): boolean {
    const { url, token } = this.#ready.ingest;
    if (script.config.target === PLACEHOLDER) {
      script.config.target = url;
      this.#token = token;
    }
    const of = (act: (session: Session) => void) => (context: Context, _events: Events, next: Next) => {
      const session = this.#sessions.get(context);
      if (session !== undefined) act(session);
      next();
    };
    const hooks: Record<string, Hook> = {
      begin: (context: Context, _events: Events, next: Next) => {
        const session = new Session();
        this.#sessions.set(context, session);
        session.functionBegins();
        next();
      },
      step: of((session) => session.begins()),
      over: of((session) => session.over()),
      function: of((session) => session.functionBegins()),
      returned: of((session) => session.functionEnds()),
      error: (error: NodeJS.ErrnoException, params: RequestParams, _c: unknown, _e: Events, next: Next) => {
        this.#inFlight.settle(params.uuid, failureOf(error));
        next();
      },
    };
    for (const [name, hook] of Object.entries(hooks)) this.#functions[OURS + name] = hook;
    let connects = false;
    for (const [i, scenario] of script.scenarios.entries()) {
      const before = this.#candidates.length;
      const engine = String(scenario.engine ?? script.config.engine ?? 'http');
      const flow = follow([scenario.flow ?? []].flat() as Table[], {
        marked: (step, request, timed) =>
          this.#marked(step, request, { flow: flowOf(request.of, scenario, i), open: [], timed }),
        thinking: (step) => this.#thinking(step),
      });
      if (this.#candidates.length === before) continue; // it sends no message
      connects ||= engine !== 'http';
      if (engine === 'http') {
        const own = list(scenario.beforeScenario);
        scenario.beforeScenario = [`${OURS}begin`, ...own, `${OURS}returned`];
        scenario.beforeRequest = list(scenario.beforeRequest).map((name) => this.#guarded(name));
        scenario.onError = [`${OURS}error`, ...list(scenario.onError)];
        scenario.flow = flow;
      } else {
        // The engine ws connects as the first step says.
        const first = flow[0]?.connect === undefined ? 0 : 1;
        scenario.flow = [...flow.slice(0, first), { function: `${OURS}begin` }, ...flow.slice(first)];
      }
    }
    script.config.processor = this.#functions;
    return connects;
  }

  /** The steps in place of a request that may carry a message; undefined: it carries none. */
  #marked(step: Table, { method, of }: Request, candidate: Candidate): Table[] | undefined {
    const rules = this.#options.rules.map((rule) => ({ rule, holds: holds(rule, method, of) }));
    if (rules.every((one) => one.holds === false)) return undefined;
    if (!rules.some((one) => one.holds))
      candidate.open = rules.filter((one) => one.holds === undefined).map(({ rule }) => rule);
    const n = this.#candidates.push(candidate) - 1;
    if (!METHODS.includes(method)) return this.#sending(step, method, n);
    const spec = of as Table;
    this.#functions[`${OURS}mark ${n}`] = (
      params: RequestParams,
      context: Context,
      events: Events,
      next: Next,
    ) => this.#mark(n, params, context, events, next);
    const own = list(spec.beforeRequest).map((name) => this.#guarded(name));
    return [{ ...step, [method]: { ...spec, beforeRequest: [...own, `${OURS}mark ${n}`] } }];
  }

  /** The name of a function for the step before a think time. */
  #thinking({ think, jitter }: Table): string {
    const varies = jitter !== undefined || this.#jitter;
    const name = `${OURS}think ${think} ${varies}`;
    this.#functions[name] = (context: Context, _events: Events, next: Next) => {
      const time = varies ? Number.NaN : thinkTime(context.funcs.$template(think));
      this.#sessions.get(context)?.think(time);
      next();
    };
    return name;
  }

  /** A step without hooks, a send, emit or function, between steps that mark it. */
  #sending(step: Table, method: string, n: number): Table[] {
    const { id } = this.#options;
    const candidate = this.#candidates[n] as Candidate;
    const sent = new WeakMap<Context, number>();
    const withId =
      id !== undefined && (method === 'send' || method === 'emit')
        ? sendingWithId(step, method, id)
        : undefined;
    this.#functions[`${OURS}send ${n}`] = async (context: Context, events: Events) => {
      this.#listen(events);
      const number = this.#take(context, candidate);
      const message = context.vars.$arrival as Message;
      try {
        message.sent = withId?.dataOf(message.id, context.funcs.$template);
      } catch (error) {
        this.#telling.send({ unsent: number, message: textOf(error) });
        throw new Error('ARRIVAL_NO_PLACE_FOR_THE_ID');
      }
      sent.set(context, number);
      this.#telling.send({ sent: number, at_us: Math.floor(monotonic()) });
    };
    this.#functions[`${OURS}sent ${n}`] = (context: Context, _events: Events, next: Next) => {
      this.#telling.send({ settled: sent.get(context), at_us: Math.floor(monotonic()), status: 200 });
      next();
    };
    const own = this.#functions[String(step.function)];
    if (method === 'function' && typeof own === 'function') {
      const failed = (error: unknown, context: Context) =>
        this.#telling.send({
          ...{ settled: sent.get(context), at_us: Math.floor(monotonic()) },
          ...{ error: 'failed', message: textOf(error) },
        });
      this.#functions[`${OURS}step ${n}`] = reporting(own as Hook, failed);
      step = { ...step, function: `${OURS}step ${n}` };
    }
    return [{ function: `${OURS}send ${n}` }, withId?.step ?? step, { function: `${OURS}sent ${n}` }];
  }

  #dueOf(context: Context, { timed }: Candidate): Due {
    const session = this.#sessions.get(context) ?? new Session();
    if (!timed) session.over();
    return session.sends();
  }

  /** Takes the number of a message, whose id the script can use from now on. */
  #take(context: Context, candidate: Candidate, due = this.#dueOf(context, candidate)): number {
    const { number, id } = this.#telling.take(candidate.flow, due);
    context.vars.$arrival = { number, id: this.#options.numbers ? Number(id) : id } satisfies Message;
    return number;
  }

  /** The last hook of a request before it is sent. */
  #mark(n: number, params: RequestParams, context: Context, events: Events, next: Next): unknown {
    const candidate = this.#candidates[n] as Candidate;
    const { open } = candidate;
    this.#listen(events);
    const due = this.#dueOf(context, candidate);
    const go = (error: unknown, carries: unknown) => {
      if (error !== undefined) {
        const message = `the function failed: ${textOf(error)}`;
        this.#telling.send({ unsent: this.#take(context, candidate, due), message });
        return next(error);
      }
      if (!carries) return next();
      const number = this.#take(context, candidate, due);
      const { id } = this.#options;
      if (id !== undefined) {
        const { id: own } = context.vars.$arrival as Message;
        const why = putId(params as unknown as Table, id, own, context.funcs.$template);
        if (why !== undefined) {
          this.#telling.send({ unsent: number, message: why });
          return next(new Error('ARRIVAL_NO_PLACE_FOR_THE_ID'));
        }
      }
      if (this.#token !== undefined) this.#authorize(params, context);
      this.#inFlight.add(number, params);
      next();
    };
    if (open.length === 0) return go(undefined, true);
    const { $template } = context.funcs;
    const request = { name: $template(params.name), url: String($template(params.url)) };
    if (open.some((rule) => !('function' in rule) && holdsFor(rule, request))) return go(undefined, true);
    const asked = open.flatMap((rule) =>
      'function' in rule ? [this.#functions[rule.function] as Hook] : [],
    );
    if (asked.length === 0) return go(undefined, false);
    Promise.all(asked.map(async (ask) => ask(params, context))).then(
      (answers) => go(undefined, answers.some(Boolean)),
      (error) => go(error, false),
    );
  }

  /** Adds the token that `before` has captured, else the pipeline's. */
  #authorize(params: RequestParams, { vars: { token } }: Context): void {
    const written = Object.keys(params.headers ?? {}).some((name) => /^authorization$/i.test(name));
    const own = typeof token === 'string' ? token : this.#token;
    if (!written) params.headers = { ...params.headers, authorization: `Bearer ${own}` };
  }

  /** The name of a hook that also says when it fails: its request, if it carries a message, is not sent. */
  #guarded(name: string): string {
    const hook = this.#functions[name];
    if (typeof hook !== 'function' || name.startsWith(OURS)) return name; // it is named by a template, or missing
    const mine = `${OURS}guarded ${name}`;
    this.#functions[mine] = reporting(hook as Hook, (error, params: RequestParams, context: Context) =>
      this.#onFailedHook(name, error, params, context),
    );
    return mine;
  }

  #onFailedHook(name: string, error: unknown, params: RequestParams, context: Context): void {
    const mark = list((params as unknown as Table).beforeRequest).at(-1);
    const n = mark?.startsWith(`${OURS}mark `) ? Number(mark.slice(`${OURS}mark `.length)) : -1;
    const candidate = this.#candidates[n];
    if (candidate === undefined) return; // a request that carries no message
    const message = `the hook ${name} failed: ${textOf(error)}`;
    this.#telling.send({ unsent: this.#take(context, candidate), message });
  }

  #listen(events: Events): void {
    if (this.#events !== undefined) return;
    this.#events = events;
    this.#inFlight.watch(events);
  }

  /** Resolves when the recorder has its result. */
  #end(): Promise<Figures> {
    this.#telling.end();
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  #onAnswer(answer: Partial<Answer> | string): void {
    if (typeof answer === 'string' || !this.#isFirst) {
      if (typeof answer !== 'string' && 'summary' in answer) this.#done?.({ counters: {}, histograms: {} });
    } else if ('progress' in answer && answer.progress) {
      const { latencies_ms: latencies } = answer.progress;
      if (this.#events === undefined || this.#done !== undefined) this.#latencies.push(...latencies);
      else for (const ms of latencies) this.#events.emit('histogram', 'arrival.latency', ms);
    } else if ('summary' in answer && answer.account && answer.verdict) {
      const { scheduled, balanced, requests, deliveries, ...counts } = answer.account;
      const counters: Record<string, number> = {
        'arrival.invalid': answer.verdict.result === 'invalid' ? 1 : 0,
      };
      for (const [name, count] of Object.entries({ scheduled, ...counts }))
        counters[`arrival.${name}`] = count;
      this.#done?.({ counters, histograms: { 'arrival.latency': this.#latencies } });
    }
  }
}

const list = (names: unknown): string[] => [names ?? []].flat() as string[];

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
