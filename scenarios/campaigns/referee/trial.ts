/** One run of a load generator against a server of a truth. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { processUsage } from '../../../pipeline/stack/usage.ts';
import { type HostCounts, readHost, vmstat } from '../../../pipeline/stack/vmstat.ts';
import type { Figures, Quantiles, RefereeRun } from '../../../reports/referee/result.ts';
import type { Supervision } from '../../run/against.ts';
import { Kept } from '../../run/kept.ts';
import type { Options } from './options.ts';
import { figuresOf, type Load, ROOT, type Tool } from './tool.ts';
import { environment } from './tools.ts';

const REFEREE = '.stack/referee';
/** How long a closed loop's request takes, s, where its connections are chosen. */
const ANSWER_S = 0.002;
/** How long a tool may take beside the load, s. */
const AROUND = 60;
/** The largest shares of the host's time that others may take of a run that is used. */
const OTHERS = 0.2;
const STEAL = 0.05;
/** A shell that reports the CPU time of a line and its children, as file 3. */
const timed = (line: string) => ['sh', '-c', `(${line}) 3>&-; code=$?; times >&3; exit $code`];

/** What the server writes at its end. */
interface ServerRecord extends Pick<RefereeRun, 'served' | 'requests' | 'gaps'> {
  due: Quantiles;
}

export interface Trial {
  run: RefereeRun;
  /** The truth from due. */
  due: Quantiles;
}

/** Starts the server, runs the tool, and ends the server. @throws if the server does not work */
export async function measure(
  tool: Tool,
  truth: string,
  repeat: number,
  { rate, seconds, connections }: Options,
  folder: string,
  { launch, stop }: Supervision,
): Promise<Trial> {
  const asked = { rate, seconds, connections };
  const flags = Object.entries({ truth, ...asked }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const server = new Kept([REFEREE, 'serve', ...flags], process.env, ROOT);
  try {
    const { address } = JSON.parse((await server.line()) || 'null') ?? {};
    if (address === undefined) throw new Error(`${REFEREE} does not serve: ${server.texts[1].trim()}`);
    const load: Load = {
      url: `http://${address}/`,
      ...asked,
      loops: Math.max(1, Math.round(rate * ANSWER_S)),
    };
    const own = join(folder, `${truth}-${tool.name}-${repeat}`);
    mkdirSync(own, { recursive: true });
    const command = tool.command(load, relative(ROOT, own));
    const started = new Date().toISOString();
    const before = readHost();
    const { texts, late } = await execute(command, seconds, launch);
    const after = readHost();
    const ofServer = (processUsage(server.pid)?.cpu_ms ?? 0) / 1000;
    server.signal('SIGTERM');
    await server.ended;
    stop.throwIfAborted();
    const [stdout = '', stderr = '', times = ''] = texts;
    writeFileSync(join(own, 'output.txt'), `${stdout}\n${stderr}`);
    const record = server.texts[0].trim().split('\n').at(-1) ?? '';
    const { due, served, requests, gaps } = JSON.parse(record) as ServerRecord;
    const file = (name: string) => readFileSync(join(own, name), 'utf8');
    const reported = readReport(tool, { stdout, stderr, file });
    const cpu = cpuIn(times);
    const host = hostBetween(before, after, (cpu ?? 0) + ofServer);
    const why = late ?? reported.error ?? disturbed(host);
    return {
      due,
      run: {
        ...{ tool: tool.name, truth, repeat, command, started, reported: reported.figures },
        ...{ served, requests, gaps },
        cpu_us: cpu === undefined || requests.begun === 0 ? null : (1e6 * cpu) / requests.begun,
        host: { busy: host.busy, steal: host.steal },
        used: why === undefined,
        ...(why !== undefined && { why_not: why }),
      },
    };
  } finally {
    server.signal('SIGKILL');
  }
}

async function execute(line: string, seconds: number, launch: Supervision['launch']) {
  let child: Kept | undefined;
  let late: string | undefined;
  const timer = setTimeout(
    () => {
      late = `it did not end within ${seconds + AROUND} s`;
      child?.signal('SIGKILL');
    },
    1000 * (seconds + AROUND),
  );
  await launch(() => {
    child = new Kept(timed(line), environment(process.env), ROOT);
    return child;
  }).finally(() => clearTimeout(timer));
  return { texts: child?.texts ?? [], late };
}

function readReport(tool: Tool, output: Parameters<Tool['read']>[0]) {
  try {
    const figures = figuresOf(tool.read(output));
    const silent = !Object.keys(figures).some((name) => name.endsWith('_ms'));
    return { figures, error: silent ? `${tool.title} reports no latency` : undefined };
  } catch (error) {
    const figures: Figures = { requests: {}, said: [] };
    const [last] = output.stderr.trim().split('\n').slice(-1);
    return { figures, error: `its report cannot be read: ${last || (error as Error).message}` };
  }
}

/** The CPU time in the output of a shell's `times`, s: its second line is that of its children. */
export function cpuIn(times: string): number | undefined {
  const parts = times
    .trim()
    .split('\n')[1]
    ?.match(/([\d.]+)m([\d.]+)s/g);
  return parts?.reduce((sum, part) => {
    const [minutes = '', rest = ''] = part.split('m');
    return sum + 60 * Number(minutes) + Number.parseFloat(rest);
  }, 0);
}

/** @param own CPU time of tool and server, s */
function hostBetween(before: HostCounts | undefined, after: HostCounts | undefined, own: number) {
  if (before === undefined || after === undefined) return { busy: 0, steal: 0, others: 0 };
  const { us = 0, sy = 0, st = 0 } = vmstat(before, after);
  const all = ((after.at_ms - before.at_ms) / 1000) * after.cores;
  const busy = (us + sy) / 100;
  return { busy, steal: st / 100, others: Math.max(0, busy - own / all) };
}

function disturbed({ steal, others }: { steal: number; others: number }): string | undefined {
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  if (others > OTHERS) return `other processes took ${percent(others)} of the host's CPU`;
  return steal > STEAL ? `the hypervisor took ${percent(steal)} of the host's CPU` : undefined;
}
