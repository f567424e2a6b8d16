/** The picture of the messages from scheduled to arrived: a branch for each loss at its stage. Layout only; facts.losses says where. Pure. */
import type { Account, Derived, Loss } from '../contract/run.ts';

/** The height of the band of all scheduled messages, px. */
const FULL = 56;
/** The height of the band where nothing branches off, px. */
const CALM = 14;
/** The least height of a branch, px: one message among a million is seen too. */
const LEAST = 2;
/** The height of a lane, px: a line of text. */
const LANE = 22;
/** The gap between the band and the first lane, px. */
const BELOW = 8;
/** Shares of a stage's column: where a branch leaves the band, and how far it runs. */
const LEAVES = 0.35;
const RUNS = 0.5;

export interface Branch {
  loss: Loss;
  /** Shares of the whole width, from the left. */
  from: number;
  to: number;
  /** px from the top, at the band and at the end. */
  leaves: number;
  ends: number;
  width: number;
}

/** A loss whose place is unknown: a strip along the whole way, below the band. */
export interface Apart {
  loss: Loss;
  /** Its distance from the top and its height, px. */
  top: number;
  width: number;
  /** The distance of the middle of its words from the top, px. */
  text: number;
}

export interface Flow {
  height: number;
  /** Pieces of the band, from left to right; shares of the width, and px. */
  band: { from: number; to: number; width: number }[];
  branches: Branch[];
  apart: Apart[];
}

/** The flow of an account over columns of equal width, one a stage of the journey. */
export function flowOf(
  account: Account,
  { journey: { stages }, losses }: Pick<Derived, 'journey' | 'losses'>,
): Flow {
  if (losses.length === 0 || account.scheduled === 0)
    return { height: CALM, band: [{ from: 0, to: 1, width: CALM }], branches: [], apart: [] };
  const columnOf = ({ stage }: Loss) => stages.findIndex(({ name }) => name === stage);
  const widthOf = ({ count }: Loss) => Math.max(LEAST, (FULL * count) / account.scheduled);
  const placed = losses.filter((loss) => columnOf(loss) >= 0).map((loss) => ({ loss, width: widthOf(loss) }));
  const apart = losses.filter((loss) => columnOf(loss) < 0);
  // The flow of what arrived stays visible, however little it is.
  const least = account.arrived > 0 ? LEAST : 0;
  const whole = FULL - apart.reduce((sum, loss) => sum + widthOf(loss), 0);
  let left = Math.max(whole, least + placed.reduce((sum, { width }) => sum + width, 0));
  const below = left + BELOW;
  const band: Flow['band'] = [];
  const branches: Branch[] = [];
  let at = 0;
  const lanes = placed.map(({ width }) => Math.max(LANE, width));
  for (const [i, { loss, width }] of placed.entries()) {
    const same = placed.filter((other) => other.loss.stage === loss.stage);
    const offset = (LEAVES * same.findIndex((other) => other.loss === loss)) / same.length;
    const from = (columnOf(loss) + LEAVES / 2 + offset) / stages.length;
    band.push({ from: at, to: from, width: left });
    left -= width;
    at = from;
    // The first one to leave takes the lowest lane, so that none crosses another.
    const above = lanes.slice(i + 1).reduce((sum, lane) => sum + lane, 0);
    const lane = lanes[i] as number;
    branches.push({
      loss,
      from,
      to: from + RUNS / stages.length,
      leaves: left,
      ends: below + above + (lane - width) / 2,
      width,
    });
  }
  band.push({ from: at, to: 1, width: left });
  let top = below + lanes.reduce((sum, lane) => sum + lane, 0);
  const strips = apart.map((loss): Apart => {
    const width = widthOf(loss);
    const strip = { loss, top, width, text: top + width + LANE / 2 };
    top += width + LANE;
    return strip;
  });
  return { height: top, band, branches, apart: strips };
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
