import type uPlot from 'uplot';
import { signOf } from '../../comparison/doubts.ts';
import { changeText, instant, ms, msUnit, plural, visible } from '../../format.ts';
import { Chart } from '../../page/chart.tsx';
import type { Line } from '../../page/chart-data.ts';
import { fromZero, logRange, wantsLog } from '../../page/chart-ranges.ts';
import { styleOf } from '../../page/chart-series.ts';
import { isSound, type LastingChange, type Listing, type Point } from '../entry.ts';
import { labelsOf } from '../text.ts';
import { namesOf, topOf } from './axis.ts';
import { compareOf, reportOf } from './links.ts';

/** Line styles that can be distinguished. */
const MOST_LOADS = 6;
/** px */
const RADIUS = 4;

/** p99 by run, a line for each load, with a dot by verdict and the limit; nothing where there are fewer than two. */
export function Trend({ trend: { script, points: all, lasting } }: Pick<Listing, 'trend'>) {
  const loads = [...new Set(all.map(({ like }) => like).toReversed())];
  const points = all.filter(({ like }) => loads.indexOf(like) < MOST_LOADS);
  const last = points.at(-1);
  if (last === undefined || points.length < 2) return null;
  const names = namesOf(points);
  const lines: Line[] = loads.slice(0, MOST_LOADS).map((load, i) => ({
    label: visible(names.get(load) ?? ''),
    values: points.map((point) => (point.like === load && isSound(point) ? point.p99 : null)),
    ...styleOf(i),
  }));
  lines.push(
    {
      label: 'in doubt',
      values: points.map((point) => (isSound(point) ? null : point.p99)),
      colour: 'invalid',
      as: 'points',
    },
    {
      label: 'limit',
      values: points.map(({ limit }) => limit),
      colour: 'fail',
      dash: 'dashed',
      as: 'points',
    },
  );
  const top = topOf(points.flatMap(({ p99, limit }) => [p99, ...(limit === null ? [] : [limit])]));
  const above = points.filter(({ p99 }) => p99 > top);
  const log = wantsLog(
    lines.map((line) => ({ ...line, values: line.values.map((v) => (v !== null && v > top ? null : v)) })),
  );
  const bad = points.filter(({ verdict }) => verdict !== 'pass').length;
  const left = all.length - points.length;
  return (
    <section class="trend">
      <h2>p99 by run</h2>
      <LastingChanges lasting={lasting} names={names} />
      <Chart
        kind="runs"
        x={points.map((_, i) => i)}
        names={points.map((point) => visible(nameOf(point)))}
        lines={lines}
        name={`Arrival p99 by run of ${visible(script)}`}
        unit={log ? 'ms, logarithmic' : 'ms'}
        axis="ms"
        title={`The newest ${visible(script)} has p99 ${msUnit(last.p99)}${last.limit === null ? '' : `, limit ${msUnit(last.limit)}`}; ${bad === 0 ? `all ${points.length} passed` : `${bad} of ${plural(points.length, 'run')} did not pass`}`}
        note={`A line for each load. ● pass, ✕ fail, ○ in doubt or incomplete${above.length > 0 ? `, ▲ above the axis: ${above.map(({ p99 }) => msUnit(p99)).join(', ')}` : ''}.${left > 0 ? ` ${plural(left, 'run')} of other loads ${left === 1 ? 'is' : 'are'} not drawn.` : ''}`}
        hint="A click opens the report."
        log={log}
        marks={lasting.flatMap(({ directory }) => {
          const at = points.findIndex((point) => point.directory === directory);
          return at < 0 ? [] : [{ x: at, name: 'changed' }];
        })}
        format={ms}
        height={220}
        wide
        tune={(options, colour) => tuned(options, colour, points, { log, top })}
      />
    </section>
  );
}

function nameOf(point: Point): string {
  const doubt = point.doubt === null ? [] : [`p99 ${signOf(point.doubt)}${ms(point.p99)} ms`];
  return [instant(point.started), point.verdict, ...doubt, ...labelsOf(point)].join(' · ').slice(0, 100);
}

/** The axis of y, and its highest value. */
interface Reach {
  log: boolean;
  top: number;
}

function tuned(
  options: uPlot.Options,
  colour: (name: string) => string,
  points: Point[],
  { log, top }: Reach,
): uPlot.Options {
  const [below, beside] = options.axes ?? [];
  return {
    ...options,
    // Dots and limits are drawn below.
    series: options.series.map((line) => ({ ...line, points: { show: false } })),
    scales: {
      ...options.scales,
      x: { time: false, range: [-0.5, points.length - 0.5] },
      y: {
        ...options.scales?.y,
        range: (u, min, max, key) =>
          log ? logRange(u, min, Math.min(max, top)) : fromZero(u, min, Math.min(max, top), key),
      },
    },
    axes: [
      {
        ...below,
        label: 'start of the run, UTC',
        space: 90,
        incrs: [1, 2, 5, 10, 20, 50, 100],
        values: (_u, splits) => splits.map((i) => instant(points[i]?.started ?? '').slice(5, 16)),
      },
      { ...beside },
    ],
    hooks: {
      draw: [...(options.hooks?.draw ?? []), (u) => drawDots(u, colour, points, top)],
      ready: [
        (u) =>
          u.over.addEventListener('click', () => {
            const point = points[u.cursor.idx ?? -1];
            if (point !== undefined) location.assign(reportOf(point.directory));
          }),
      ],
    },
  };
}

/** A dot at each run, whose colour and shape show its verdict, and the limit that it had. */
function drawDots(u: uPlot, colour: (name: string) => string, points: Point[], top: number): void {
  const radius = RADIUS * devicePixelRatio;
  u.ctx.save();
  u.ctx.lineWidth = 2 * devicePixelRatio;
  for (const [i, point] of points.entries()) {
    const { p99, limit, verdict } = point;
    const above = p99 > top;
    const [x, y] = [u.valToPos(i, 'x', true), above ? u.bbox.top + 2 * radius : u.valToPos(p99, 'y', true)];
    if (limit !== null) {
      const at = u.valToPos(limit, 'y', true);
      u.ctx.strokeStyle = colour('fail');
      u.ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      u.ctx.beginPath();
      u.ctx.moveTo(u.valToPos(i - 0.5, 'x', true), at);
      u.ctx.lineTo(u.valToPos(i + 0.5, 'x', true), at);
      u.ctx.stroke();
      u.ctx.setLineDash([]);
    }
    u.ctx.strokeStyle = colour(verdict === 'pass' && !isSound(point) ? 'invalid' : verdict);
    u.ctx.fillStyle = colour(verdict === 'pass' && isSound(point) ? verdict : 'paper');
    u.ctx.beginPath();
    if (above) {
      u.ctx.moveTo(x, y - radius);
      u.ctx.lineTo(x + radius, y + radius);
      u.ctx.lineTo(x - radius, y + radius);
      u.ctx.closePath();
      u.ctx.fill();
    } else if (verdict === 'fail') {
      u.ctx.moveTo(x - radius, y - radius);
      u.ctx.lineTo(x + radius, y + radius);
      u.ctx.moveTo(x + radius, y - radius);
      u.ctx.lineTo(x - radius, y + radius);
    } else {
      u.ctx.arc(x, y, radius, 0, 2 * Math.PI);
      u.ctx.fill();
    }
    u.ctx.stroke();
  }
  u.ctx.restore();
}

/** Differences of two runs that are named; a comparison has all. */
const MOST_NAMED = 2;

/** What the machine has to do with a change. */
function causeText({ machine, back }: Pick<LastingChange, 'machine' | 'back'>): string {
  if (machine === undefined) return '';
  if (machine !== null) return `, with the machine, which took ${changeText(machine)} for the same work`;
  const level = back === undefined ? '' : `, back at the level of run ${back}`;
  return `${level}; how fast the machine was is not known, so it may be that`;
}

/** A sentence for each load whose p99 has changed permanently. @param names of the loads */
function LastingChanges({ lasting, names }: { lasting: LastingChange[]; names: Map<string, string> }) {
  const shown = lasting.filter(({ like }) => names.has(like));
  if (shown.length === 0) return null;
  return (
    <ul class="lasting">
      {shown.map(({ like, directory, from, number, of, started, p99, differs, adjusted, ...why }) => (
        <li key={like}>
          {visible(names.get(like) ?? '')}: <strong>p99 {changeText(p99)}</strong>
          {adjusted !== undefined && ` (${changeText(adjusted)} adjusted for the machine’s speed)`} since{' '}
          <a href={reportOf(directory)}>
            run {number} of {of}
          </a>
          {causeText(why)} ({[instant(started), ...differs.slice(0, MOST_NAMED).map(visible)].join('; ')}
          {differs.length > MOST_NAMED && `; ${differs.length - MOST_NAMED} more`}).{' '}
          <a href={compareOf([from, directory])}>Compare it with the one before</a>
        </li>
      ))}
    </ul>
  );
}
