/** What the page, the document and the terminal say of a result. Pure. */
import { changeText, count, figure, instant, ms, msUnit, percent, plural } from '../format.ts';
import type { Cell, Model, Percentile, Referee, RefereeRun, Requests, ToolEntry, Truth } from './result.ts';

/** A figure is right within 5 % of the truth, or 0.3 ms where that is more. */
const RIGHT = { share: 0.05, ms: 0.3 };
/** Twice the truth, or half of it. */
const FAR = 2;

/** Mark is how far off a figure is. */
export interface Mark {
  tone: 'right' | 'low' | 'high' | 'none';
  far: boolean;
  /** `+3 %`, `÷48`, or why there is no figure. */
  text: string;
  /** The figure itself. */
  figure: string;
  /** The least and the largest p99 of the repeats, `÷52 to ÷40 in 3 runs`; empty without repeats. */
  range: string;
}

/** How far off a tool's percentile is from a truth, counted from due. */
export function markOf(result: Referee, tool: string, truth: Truth, of: Percentile = 'p99'): Mark {
  const is = (one: { tool: string; truth: string }) => one.tool === tool && one.truth === truth.name;
  const cell = result.cells.find(is);
  const factor = cell?.due[of];
  if (cell === undefined || factor === undefined) {
    const text = cell ? 'not reported' : result.runs.some(is) ? 'not used' : 'not run';
    return { tone: 'none', far: false, text, figure: '', range: '' };
  }
  const due = truth.due[`${of}_ms`];
  const off = (factor - 1) * due;
  const right = Math.abs(off) <= Math.max(RIGHT.ms, RIGHT.share * due);
  return {
    tone: right ? 'right' : off < 0 ? 'low' : 'high',
    far: !right && (factor >= FAR || factor <= 1 / FAR),
    text: changeText(factor - 1),
    figure: msUnit(factor * due),
    range: of === 'p99' && result.load.repeats > 1 ? rangeOf(cell) : '',
  };
}

function rangeOf({ low, high, runs }: Cell): string {
  const of = plural(runs, 'run');
  if (low === undefined || high === undefined) return of;
  return `${changeText(low - 1)} to ${changeText(high - 1)} in ${of}`;
}

/** A mark without colour: ↓ below the truth, ↑ above it. */
export const ARROWS = { right: '', low: '↓', high: '↑', none: '' } as const;

/** Models from the one that errs least. */
const MODELS: Model[] = ['open', 'paced', 'closed'];

/** The tools that ran: the project's own first, then open, paced and closed ones. */
export function toolsOf({ tools, runs }: Referee): ToolEntry[] {
  const rank = ({ own, model }: ToolEntry) => (own ? -1 : MODELS.indexOf(model));
  return tools
    .filter(({ name }) => runs.some(({ tool }) => tool === name))
    .sort((one, other) => rank(one) - rank(other));
}

/** The tools that were asked for and are not installed. */
export function missingOf({ tools }: Referee): ToolEntry[] {
  return tools.filter(({ version }) => version === null);
}

/** The run whose figures stand for a tool and a truth: of repeats that are used the one with the (lower) median p99. */
export function runOf({ runs }: Referee, tool: string, truth: string): RefereeRun | undefined {
  const p99 = ({ reported }: RefereeRun) => reported.p99_ms ?? 0;
  const used = runs.filter((run) => run.tool === tool && run.truth === truth && run.used);
  return used.sort((one, other) => p99(one) - p99(other))[Math.floor((used.length - 1) / 2)];
}

/** What came out, in two sentences: the truth that most rows are far below, and the project's own rows. */
export function answerOf(result: Referee): string[] {
  const cells = result.truths.flatMap((truth) =>
    toolsOf(result)
      .map((tool) => ({ tool, truth, mark: markOf(result, tool.name, truth) }))
      .filter(({ mark }) => mark.tone !== 'none'),
  );
  const under = result.truths.map((truth) => cells.filter((cell) => cell.truth === truth));
  const far = (of: typeof cells) => of.filter(({ mark }) => mark.far && mark.tone === 'low').length;
  const [hardest = []] = under.sort((one, other) => far(other) - far(one));
  const [first] = hardest;
  if (first === undefined) return ['No run could be used.'];
  const { name, due } = first.truth;
  const are = (tone: Mark['tone']) => count(hardest.filter(({ mark }) => mark.tone === tone).length);
  const outcome = `Under “${name}” p99 is ${msUnit(due.p99_ms)}: ${are('right')} of ${plural(hardest.length, 'row')} report it right, ${are('low')} too low, ${are('high')} too high.`;
  const own = cells.filter(({ tool }) => tool.own);
  if (own.length === 0) return [outcome];
  const off = own.filter(({ mark }) => mark.tone !== 'right');
  const those = off
    .map(({ tool, truth, mark }) => `${tool.title} under ${truth.name} ${mark.text}`)
    .join(', ');
  return [
    outcome,
    `The project’s own rows are right in ${count(own.length - off.length)} of ${plural(own.length, 'cell')}${off.length > 0 ? `: ${those}` : ''}.`,
  ];
}

/** What the figures are of. */
export const LEGEND = `p99 as each tool reports it, against the truth from due: + and × are above it, − and ÷ below. Right is within ${RIGHT.share * 100} % or ${RIGHT.ms} ms. Of repeats the median, with the least and the largest.`;

/** The conditions of all runs. */
export function conditionsOf({ started, machine, load, runs }: Referee): string[] {
  const { rate, connections, seconds, repeats } = load;
  const most = (of: 'busy' | 'steal') => percent(Math.max(...runs.map(({ host }) => host[of])));
  return [
    instant(started),
    `${machine.cpu}, ${plural(machine.cores, 'core')}, Linux ${machine.kernel}`,
    `${figure(rate)} requests/s for ${figure(seconds)} s, ${plural(connections, 'connection')}, ${plural(repeats, 'repeat')}`,
    ...(runs.length > 0 ? [`host at most ${most('busy')} busy, ${most('steal')} stolen`] : []),
  ];
}

/** The command that repeats everything. */
export function campaign({ load, truths }: Referee): string {
  const { rate, seconds, connections, repeats } = load;
  const names = truths.map(({ name }) => name).join();
  return `npm run referee -- --install --truths ${names} --rate ${rate} --seconds ${seconds} --connections ${connections} --repeats ${repeats}`;
}

/** A tool's own command lines, each with the truths that it was run under; they differ by more than the port and the folder of a run. */
export function commandsOf({ runs, truths }: Referee, tool: string): { command: string; truths: string }[] {
  const under = new Map<string, Set<string>>();
  for (const run of runs.filter((one) => one.tool === tool)) {
    const command = run.command
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/(127\.0\.0\.1(?::| --port ))\d+/g, '$1PORT')
      .replaceAll(/reports\/runs\/[^/\s]+\/[^/\s"]+/g, 'FOLDER');
    under.set(command, (under.get(command) ?? new Set()).add(run.truth));
  }
  return [...under].map(([command, names]) => ({
    command,
    truths: names.size === truths.length ? 'all truths' : [...names].join(', '),
  }));
}

/** Latest is the most that its own lateness adds to p99 in a run of the project's own, ms. */
function latest({ tools, runs }: Referee): number | null {
  const own = new Set(tools.filter((tool) => tool.own).map(({ name }) => name));
  const late = runs
    .filter(({ tool, used }) => used && own.has(tool))
    .flatMap(({ reported: { p99_ms, sent } }) =>
      p99_ms === undefined || sent?.p99_ms === undefined ? [] : p99_ms - sent.p99_ms,
    );
  return late.length === 0 ? null : Math.max(...late);
}

/** The failures that the server made. */
export function failuresOf({ reset, lost, refused_connections }: Requests): number {
  return reset + lost + refused_connections;
}

/** Names what the server's record has and a tool does not report, or the reverse: `wrk: 8 of 8 failures under lost`. */
function miscounts(result: Referee, reverse = false): string {
  const { connections } = result.load;
  const differing = ({ reported, requests }: RefereeRun): string | undefined => {
    const { begun, done = 0, failed = 0 } = reported.requests;
    const server = {
      failure: failuresOf(requests),
      request: requests.begun + requests.refused_connections,
    };
    const tool = { failure: failed, request: begun ?? done + failed };
    const [more, less] = reverse ? [tool, server] : [server, tool];
    // At the end each connection may have a request under way, which a tool counts or not.
    const kind = (['failure', 'request'] as const).find(
      (of) => more[of] - less[of] > (of === 'failure' && !reverse ? 0 : connections),
    );
    return kind && `${count(more[kind] - less[kind])} of ${plural(more[kind], kind)}`;
  };
  return toolsOf(result)
    .flatMap(({ name, title }) => {
      const under = result.truths.flatMap((truth) => {
        const run = runOf(result, name, truth.name);
        const what = run && differing(run);
        return what === undefined ? [] : `${what} under ${truth.name}`;
      });
      return under.length === 0 ? [] : `${title}: ${under.join(', ')}`;
    })
    .join('; ');
}

/** Why each kind of tool errs, and which rows are of that kind. */
export function kindsOf(result: Referee): { title: string; text: string; rows: string }[] {
  const { rate, seconds } = result.load;
  const rows = (is: (tool: ToolEntry) => boolean | undefined) =>
    toolsOf(result)
      .filter(is)
      .map(({ title }) => title)
      .join('; ');
  const others = (model: Model) => rows((tool) => tool.model === model && !tool.own);
  const late = latest(result);
  const where = (rows: string, title: string, text: string) => (rows === '' ? [] : [{ title, text, rows }]);
  return [
    {
      title: 'A closed loop waits with the server',
      text: `It sends the next request when the answer before it has come. While the server is silent it sends nothing, so the requests that would have waited longest are never sent. Of half a second of silence it notes one sample a connection, where ${plural(Math.round(rate / 2), 'request')} were due. Gil Tene named this coordinated omission (“How NOT to Measure Latency”). Schroeder, Wierman and Harchol-Balter (“Open Versus Closed: A Cautionary Tale”, NSDI 2006) show that at the same load response times are much lower in a closed model than in an open one.`,
      rows: others('closed'),
    },
    {
      title: 'A paced loop is still a loop',
      text: 'It holds a rate while the server keeps up, but a connection that waits for its answer sends nothing. When it sends at last, its clock starts then: service time is measured, and the wait from when the request was due is not. Some do count from due: wrk2 always, oha with --latency-correction.',
      rows: others('paced'),
    },
    {
      title: 'An open load may still be timed from send',
      text: 'The clock starts each request, whatever became of those before it. What a tool sends late, because it had no free user, connection or CPU, has waited already; a latency from send leaves that out. k6 drops what it cannot start, and counts it in dropped_iterations.',
      rows: others('open'),
    },
    {
      title: 'A correction is a guess',
      text: 'Some loops add the samples that a silence has swallowed, one for each interval in which they expected to send. The interval must be that of the schedule. wrk takes its own pace instead, slowed by the silence, and each connection fills in only what it waited for itself.',
      rows: '',
    },
    {
      title: 'Few samples and wide bins',
      text: `Beyond p99.9 of ${count(rate * seconds)} requests lie ${count((rate * seconds) / 1000)}: one more or less moves it. A tool that keeps a part of its samples has fewer. Bins add their width: ab and autocannon keep whole milliseconds, Locust two digits. Of 2 ms, half a millisecond is 25 %.`,
      rows: '',
    },
    {
      title: 'Warm-up',
      text: 'First requests open connections, and the tool’s own code is cold. A tool that counts them reports its own start; one that leaves them out sees another share of the server’s faults. A truth begins with the first request and leaves nothing out.',
      rows: '',
    },
    ...where(
      miscounts(result),
      'What fails may stay hidden',
      'The server has failures and requests that the tool does not report. When a connection is reset, some clients send its request again and count it once. Of an answer that never comes a tool says nothing if it keeps waiting, or ends before it gives up.',
    ),
    ...where(
      miscounts(result, true),
      'What only the tool has seen',
      'The tool reports failures and requests that the server does not have: it cut off what it waited for, or counts what it never sent.',
    ),
    ...where(
      late === null ? '' : rows(({ own }) => own),
      'What is wrong in our own rows',
      `They count from due, so their figures hold their own lateness: on this machine p99 is up to ${ms(late)} ms above that from send. An answer has arrived when the kernel has it, so late reading adds nothing; a program that reads late waits longer. The server’s own lateness is in all rows alike. A histogram of three digits rounds by up to 0.1 %.`,
    ),
  ];
}

/** The runs that are kept and not used, a line each. */
export function unusedOf({ runs }: Referee): string[] {
  return runs
    .filter(({ used }) => !used)
    .map(
      ({ tool, truth, repeat, why_not }) =>
        `${tool} under ${truth}, repeat ${repeat}: ${why_not ?? 'no reason given'}`,
    );
}
