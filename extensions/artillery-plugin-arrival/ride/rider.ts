/** Rides along with a script in a sending thread of Artillery: follows its virtual users, and tells the recorder. */
import type { Artillery } from '../artillery.ts';
import type { Hook } from '../hooks.ts';
import { type Events, InFlight } from '../in-flight.ts';
import { thinkTime } from '../phases.ts';
import { OptionError, PLACEHOLDER } from '../pipeline.ts';
import { names } from '../processor.ts';
import type { RequestParams } from '../request.ts';
import type { Script } from '../script.ts';
import type { Table } from '../table.ts';
import { type Answer, askReady, countersOf, openChannel } from '../thread.ts';
import { Session, watchPhases } from './due.ts';
import { type Context, Marks, type Next } from './marks.ts';
import { contentOf } from './messages.ts';
import { flowOf, type RideOptions } from './options.ts';
import { follow, OURS } from './steps.ts';
import { Telling } from './telling.ts';
import { type Figures, watchWorker } from './worker.ts';

export class Rider {
  readonly #channel = openChannel();
  readonly #inFlight: InFlight;
  readonly #sessions = new WeakMap<Context, Session>();
  readonly #functions: Record<string, unknown>;
  readonly #telling: Telling;
  /** The first of several threads reports the figures of all. */
  readonly #isFirst: boolean;
  /** Think times vary by default. */
  readonly #jitter: boolean;
  readonly #marks: Marks;
  /** Latencies that came when Artillery took no metrics: at first, and at the end. */
  readonly #latencies: number[] = [];
  #done: ((figures: Figures) => void) | undefined;

  /** Waits until the recorder is ready, so that no phase begins before its subscriptions hold. */
  constructor(options: RideOptions, script: Script, artillery: Artillery) {
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
    const ready = askReady(this.#channel);
    const telling = new Telling(this.#channel, ready.ids, Number(worker) - 1, Number(totalWorkers));
    this.#telling = telling;
    this.#inFlight = new InFlight(
      Number.POSITIVE_INFINITY,
      (line) => telling.send(line),
      options.compares ? (params) => contentOf(params as unknown as Table) : undefined,
    );
    this.#channel.onmessage = (event) => this.#onAnswer((event as { data: Answer | string }).data);
    const { url, token } = ready.ingest;
    const isPlaced = script.config.target === PLACEHOLDER;
    if (isPlaced) script.config.target = url;
    const shared = {
      options,
      functions: this.#functions,
      telling,
      inFlight: this.#inFlight,
      sessions: this.#sessions,
    };
    this.#marks = new Marks({ ...shared, token: isPlaced ? token : undefined });
    watchPhases(artillery, this.#attach(script));
    watchWorker(
      artillery.store(),
      () => telling.begin(),
      () => this.#end(),
    );
  }

  /** Adds functions to the steps of the script. @returns whether a scenario with messages connects before its first step */
  #attach(script: Script): boolean {
    const of = (act: (session: Session) => void) => (context: Context, _events: Events, next: Next) => {
      const session = this.#sessions.get(context);
      if (session !== undefined) act(session);
      next();
    };
    const hooks: Record<string, Hook> = {
      begin: (context: Context, _events: Events, next: Next) => {
        this.#sessions.set(context, new Session());
        next();
      },
      step: of((session) => session.begins()),
      over: of((session) => session.over()),
      request: (_params: RequestParams, context: Context, _events: Events, next: Next) => {
        this.#sessions.get(context)?.over();
        next();
      },
      function: of((session) => session.functionBegins()),
      returned: of((session) => session.functionEnds()),
      error: this.#inFlight.onError,
    };
    for (const [name, hook] of Object.entries(hooks)) this.#functions[OURS + name] = hook;
    let connects = false;
    for (const [i, scenario] of script.scenarios.entries()) {
      const before = this.#marks.count;
      const engine = String(scenario.engine ?? script.config.engine ?? 'http');
      const flow = follow([scenario.flow ?? []].flat() as Table[], {
        marked: (step, request, timed) =>
          this.#marks.marked(step, request, { flow: flowOf(request.of, scenario, i), open: [], timed }),
        thinking: (step) => this.#thinking(step),
      });
      if (this.#marks.count === before) continue; // it sends no message
      connects ||= engine !== 'http';
      if (engine === 'http') {
        const own = names(scenario.beforeScenario);
        const watched = own.length > 0 ? [`${OURS}function`, ...own, `${OURS}returned`] : [];
        scenario.beforeScenario = [`${OURS}begin`, ...watched];
        scenario.beforeRequest = names(scenario.beforeRequest).map((name) => this.#marks.guarded(name));
        scenario.onError = [`${OURS}error`, ...names(scenario.onError)];
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

  /** Resolves when the recorder has its result. */
  #end(): Promise<Figures> {
    this.#telling.end();
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  #onAnswer(answer: Answer | string): void {
    if (typeof answer === 'string') return; // another thread's lines
    if ('summary' in answer) {
      const histograms = { 'arrival.latency': this.#latencies };
      this.#done?.(
        this.#isFirst ? { counters: countersOf(answer), histograms } : { counters: {}, histograms: {} },
      );
    } else if ('progress' in answer && this.#isFirst) {
      const { latencies_ms: latencies } = answer.progress;
      const { events } = this.#marks;
      if (events === undefined || this.#done !== undefined) this.#latencies.push(...latencies);
      else for (const ms of latencies) events.emit('histogram', 'arrival.latency', ms);
    }
  }
}
