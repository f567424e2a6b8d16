/** Marks the requests of a script that carry messages: each gets its id and its due time when it is sent. */
import { type Hook, reporting } from '../hooks.ts';
import type { Events, InFlight } from '../in-flight.ts';
import { names } from '../processor.ts';
import type { RequestParams } from '../request.ts';
import type { Table } from '../table.ts';
import { monotonic } from '../thread.ts';
import { type Due, Session } from './due.ts';
import { contentOf, hasId, holds, holdsFor, METHODS, putId, type Rule, sendingOf } from './messages.ts';
import type { RideOptions } from './options.ts';
import { OURS, type Request } from './steps.ts';
import type { Telling } from './telling.ts';

/** A virtual user. */
export interface Context {
  vars: Record<string, unknown>;
  funcs: { $template(text: unknown): unknown };
}
export type Next = (error?: unknown) => void;

/** A request of the script that may carry a message. */
interface Candidate {
  flow: string;
  /** Rules of which only the run can say whether they hold; empty: it carries one. */
  open: Rule[];
  /** It is due when its step begins; else, in a loop of parallel steps, when it comes. */
  timed: boolean;
  /** The path of its id; undefined: the script has written the id. */
  path?: string | undefined;
}

/** The variable `$arrival` of a virtual user: its last message. */
interface Message {
  number: number;
  id: string | number;
  /** The data of its send or emit. */
  sent?: unknown;
}

/** Settled says how the request of a message ended. */
type Settled = { status: number } | { error: string; message: string };

/** The parts of a sending thread that the marks use. */
interface With {
  options: RideOptions;
  /** Those of the processor, to which the plugin adds its own. */
  functions: Record<string, unknown>;
  telling: Telling;
  inFlight: InFlight;
  sessions: WeakMap<Context, Session>;
  /** The pipeline's, for a script that has no target of its own. */
  token: string | undefined;
}

export class Marks {
  readonly #with: With;
  readonly #candidates: Candidate[] = [];
  #events: Events | undefined;

  constructor(given: With) {
    this.#with = given;
  }

  /** The number of requests of the script that may carry a message. */
  get count(): number {
    return this.#candidates.length;
  }

  /** Takes metrics; undefined: no message was sent yet. */
  get events(): Events | undefined {
    return this.#events;
  }

  /** The steps in place of a request that may carry a message; undefined: it carries none. */
  marked(step: Table, { method, of }: Request, candidate: Candidate): Table[] | undefined {
    const rules = this.#with.options.rules.map((rule) => ({ rule, holds: holds(rule, method, of) }));
    if (rules.every((one) => one.holds === false)) return undefined;
    if (!rules.some((one) => one.holds))
      candidate.open = rules.filter((one) => one.holds === undefined).map(({ rule }) => rule);
    if (!hasId(of)) candidate.path = this.#with.options.id;
    const n = this.#candidates.push(candidate) - 1;
    if (!METHODS.includes(method)) return this.#sending(step, method, n);
    const spec = of as Table;
    this.#with.functions[`${OURS}mark ${n}`] = (
      params: RequestParams,
      context: Context,
      events: Events,
      next: Next,
    ) => this.#mark(n, params, context, events, next);
    const own = names(spec.beforeRequest).map((name) => this.guarded(name));
    return [{ ...step, [method]: { ...spec, beforeRequest: [...own, `${OURS}mark ${n}`] } }];
  }

  /** A send or emit, which has no hooks, between steps that mark it; a function step in one that does. */
  #sending(step: Table, method: string, n: number): Table[] {
    const candidate = this.#candidates[n] as Candidate;
    if (method === 'function') return this.#calling(step, candidate, n);
    const sent = new WeakMap<Context, number>();
    const sending = sendingOf(step, method as 'send' | 'emit', candidate.path);
    this.#with.functions[`${OURS}send ${n}`] = async (context: Context, events: Events) => {
      this.#listen(events);
      const number = this.#take(context, candidate);
      const message = context.vars.$arrival as Message;
      try {
        message.sent = sending.dataOf(message.id, context.funcs.$template);
      } catch (error) {
        this.#with.telling.send({ unsent: number, message: textOf(error) });
        throw new Error('ARRIVAL_NO_PLACE_FOR_THE_ID');
      }
      sent.set(context, number);
      this.#sent(number, this.#with.options.compares ? contentOf({ body: message.sent }) : undefined);
    };
    // Once: engines differ in whether the flow goes on after a step that failed.
    this.#with.functions[`${OURS}sent ${n}`] = (context: Context, _events: Events, next: Next) => {
      const number = sent.get(context);
      if (number !== undefined && sent.delete(context)) this.#settled(number, { status: 200 });
      next();
    };
    return [{ function: `${OURS}send ${n}` }, sending.step, { function: `${OURS}sent ${n}` }];
  }

  /** A function step that marks its message. It is one step, as parallel ones begin together. */
  #calling(step: Table, candidate: Candidate, n: number): Table[] {
    const own = this.#with.functions[String(step.function)];
    if (typeof own !== 'function') return [step]; // Artillery says that there is none
    this.#with.functions[`${OURS}step ${n}`] = (context: Context, events: Events, next: Next) => {
      this.#listen(events);
      const number = this.#take(context, candidate);
      this.#sent(number);
      let open = true;
      const settle = (how: Settled) => {
        if (open) this.#settled(number, how);
        open = false;
      };
      const step = reporting(own as Hook, (error) => settle({ error: 'failed', message: textOf(error) }));
      step(context, events, (error?: unknown) => {
        settle({ status: 200 });
        next(error);
      });
    };
    return [{ ...step, function: `${OURS}step ${n}` }];
  }

  #sent(number: number, body?: string): void {
    this.#with.telling.send({ sent: number, at_us: Math.floor(monotonic()), body });
  }

  #settled(number: number, how: Settled): void {
    this.#with.telling.send({ settled: number, at_us: Math.floor(monotonic()), ...how });
  }

  #dueOf(context: Context, { timed }: Candidate): Due {
    const session = this.#with.sessions.get(context) ?? new Session();
    if (!timed) session.over();
    return session.sends();
  }

  /** Takes the number of a message, whose id the script can use from now on. */
  #take(context: Context, candidate: Candidate, due = this.#dueOf(context, candidate)): number {
    const { number, id } = this.#with.telling.take(candidate.flow, due);
    context.vars.$arrival = { number, id: this.#with.options.numbers ? Number(id) : id } satisfies Message;
    return number;
  }

  /** The last hook of a request before it is sent. */
  #mark(n: number, params: RequestParams, context: Context, events: Events, next: Next): unknown {
    const candidate = this.#candidates[n] as Candidate;
    const { open, path } = candidate;
    this.#listen(events);
    const due = this.#dueOf(context, candidate);
    const go = (error: unknown, carries: unknown) => {
      if (error !== undefined) {
        const message = `the function failed: ${textOf(error)}`;
        this.#with.telling.send({ unsent: this.#take(context, candidate, due), message });
        return next(error);
      }
      if (!carries) return next();
      const number = this.#take(context, candidate, due);
      if (path !== undefined) {
        const { id } = context.vars.$arrival as Message;
        const why = putId(params as unknown as Table, path, id, context.funcs.$template);
        if (why !== undefined) {
          this.#with.telling.send({ unsent: number, message: why });
          return next(new Error('ARRIVAL_NO_PLACE_FOR_THE_ID'));
        }
      }
      if (this.#with.token !== undefined) this.#authorize(params, context);
      this.#with.inFlight.add(number, params);
      next();
    };
    if (open.length === 0) return go(undefined, true);
    const { $template } = context.funcs;
    const request = { name: $template(params.name), url: String($template(params.url)) };
    if (open.some((rule) => !('function' in rule) && holdsFor(rule, request))) return go(undefined, true);
    const asked = open.flatMap((rule) =>
      'function' in rule ? [this.#with.functions[rule.function] as Hook] : [],
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
    const own = typeof token === 'string' ? token : this.#with.token;
    if (!written) params.headers = { ...params.headers, authorization: `Bearer ${own}` };
  }

  /** The name of a hook that also says when it fails: its request, if it carries a message, is not sent. */
  guarded(name: string): string {
    const hook = this.#with.functions[name];
    if (typeof hook !== 'function' || name.startsWith(OURS)) return name; // it is named by a template, or missing
    const mine = `${OURS}guarded ${name}`;
    this.#with.functions[mine] = reporting(hook as Hook, (error, params: RequestParams, context: Context) =>
      this.#onFailedHook(name, error, params, context),
    );
    return mine;
  }

  #onFailedHook(name: string, error: unknown, params: RequestParams, context: Context): void {
    const mark = names((params as unknown as Table).beforeRequest).at(-1);
    const n = mark?.startsWith(`${OURS}mark `) ? Number(mark.slice(`${OURS}mark `.length)) : -1;
    const candidate = this.#candidates[n];
    if (candidate === undefined) return; // a request that carries no message
    const message = `the hook ${name} failed: ${textOf(error)}`;
    this.#with.telling.send({ unsent: this.#take(context, candidate), message });
  }

  #listen(events: Events): void {
    if (this.#events !== undefined) return;
    this.#events = events;
    this.#with.inFlight.watch(events);
  }
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
