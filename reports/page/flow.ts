/** The way of the messages from scheduled to arrived, with a branch for each loss at the stage where it happened. Pure. */
import { type Missed, missedOf } from '../account.ts';
import { ABOUT_END, type Account, type End, STAGES, type Stage } from '../contract/run.ts';

/** px of the band of all scheduled messages. */
const FULL = 56;
/** px of it where nothing branches off. */
const CALM = 14;
/** px: a branch of one message among a million is seen too. */
const LEAST = 2;
/** px of a lane: a line of text. */
const LANE = 22;
/** px between the band and the first lane. */
const BELOW = 8;
/** Shares of a stage's column: where a branch leaves the band, and how far it runs. */
const LEAVES = 0.35;
const RUNS = 0.5;

export interface Branch extends Missed {
  /** Shares of the whole width, from the left. */
  from: number;
  to: number;
  /** px from the top, at the band and at the end. */
  leaves: number;
  ends: number;
  width: number;
}

export interface Flow {
  height: number;
  /** Pieces of the band, from left to right; shares of the width, and px. */
  band: { from: number; to: number; width: number }[];
  branches: Branch[];
}

/**
 * The column of an end among those of the stages: that of the stage where it branches off. Other pipelines than ours begin
 * and end as ours does; what ours loses in between, they lose before their last stage.
 */
function columnOf(end: End, stages: readonly Pick<Stage, 'name'>[]): number {
  const { stage = '' } = ABOUT_END[end];
  const named = stages.findIndex(({ name }) => name === stage);
  if (named >= 0) return named;
  const last = stages.length - 1;
  const ours = STAGES.indexOf(stage);
  if (ours === STAGES.length - 1) return last;
  return Math.max(0, Math.min(ours <= 1 ? ours : last - 1, last));
}

/** The flow of an account over columns of equal width, one a stage. */
export function flowOf(account: Account, stages: readonly Pick<Stage, 'name'>[]): Flow {
  const missed = missedOf(account)
    .map((one) => ({ ...one, column: columnOf(one.end, stages) }))
    .sort((a, b) => a.column - b.column);
  if (missed.length === 0 || account.scheduled === 0)
    return { height: CALM, band: [{ from: 0, to: 1, width: CALM }], branches: [] };
  const widths = missed.map(({ count }) => Math.max(LEAST, (FULL * count) / account.scheduled));
  // The flow of what arrived stays visible, however little it is.
  const least = account.arrived > 0 ? LEAST : 0;
  let left = Math.max(FULL, least + widths.reduce((sum, width) => sum + width, 0));
  const band: Flow['band'] = [];
  const branches: Branch[] = [];
  let at = 0;
  const lanes = missed.map((_, i) => Math.max(LANE, widths[i] ?? 0));
  for (const [i, { column, ...one }] of missed.entries()) {
    const width = widths[i] as number;
    const same = missed.filter((other) => other.column === column);
    const offset = (LEAVES * same.findIndex(({ end }) => end === one.end)) / same.length;
    const from = (column + LEAVES / 2 + offset) / stages.length;
    band.push({ from: at, to: from, width: left });
    left -= width;
    at = from;
    // The first one to leave takes the lowest lane, so that none crosses another.
    const above = lanes.slice(i + 1).reduce((sum, lane) => sum + lane, 0);
    const lane = lanes[i] as number;
    branches.push({
      ...one,
      from,
      to: from + RUNS / stages.length,
      leaves: left,
      ends: FULL + BELOW + above + (lane - width) / 2,
      width,
    });
  }
  band.push({ from: at, to: 1, width: left });
  const height = FULL + BELOW + lanes.reduce((sum, lane) => sum + lane, 0);
  return { height, band, branches };
}

/** The outline of a branch in a drawing of 1000 units by as many px as it is high: it leaves downwards and to the right. */
export function outline({ from, to, leaves, ends, width }: Branch): string {
  const [x0, x1] = [1000 * from, 1000 * to];
  const middle = (x0 + x1) / 2;
  const edge = (y0: number, y1: number) => `C${middle},${y0} ${middle},${y1}`;
  return [
    `M${x0},${leaves} ${edge(leaves, ends)} ${x1},${ends}`,
    `V${ends + width}`,
    `${edge(ends + width, leaves + width)} ${x0},${leaves + width}Z`,
  ].join(' ');
}
