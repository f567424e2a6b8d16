/** What came to each target; the same as internal/ledger/target.go and internal/report/targets.go have. */
import { briefOf } from '../../reports/latency.ts';
import type { Targets as Told } from '../../reports/run.ts';
import type { Flow } from './schedule.ts';
import { Series } from './series.ts';

/** Targets with a histogram of their own. Of more, one in so many has one. */
const MOST_FOLLOWED = 1000;
/** Of each kind that is shown: that lost most, that are slowest, that are busiest. */
const MOST_SHOWN = 50;
/** Deliveries that a 99th percentile wants. */
const HUNDRED = 100;

interface Target {
  name: string;
  arrival: Series;
  reordered: number;
}

export class Targets {
  /** By name, in the order of the flows. */
  readonly #followed = new Map<string, Target>();
  readonly #names = new Set<string>();
  readonly #others: Target = { name: '', arrival: new Series(2), reordered: 0 };

  constructor(flows: readonly Flow[]) {
    for (const { target, targets } of flows) {
      for (let i = 0; i < targets; i++) this.#names.add(`${target}/${i}`);
    }
    const step = Math.max(1, Math.ceil(this.#names.size / MOST_FOLLOWED));
    for (const [i, name] of [...this.#names].entries()) {
      if (i % step === 0) this.#followed.set(name, { name, arrival: new Series(2), reordered: 0 });
    }
  }

  of(name: string): Target {
    return this.#followed.get(name) ?? this.#others;
  }

  /** @param lost messages, by the name of their target */
  told(lost: ReadonlyMap<string, number>): Told {
    const all = [...this.#followed.values()].map((target) => ({
      target,
      lost: lost.get(target.name) ?? 0,
      p99: target.arrival.count < HUNDRED ? 0 : (target.arrival.percentile(99) ?? 0),
      arrived: target.arrival.count,
    }));
    const orders = (['lost', 'p99', 'arrived'] as const).map((key) =>
      all
        .filter((one) => one[key] > 0)
        .sort((a, b) => b[key] - a[key])
        .slice(0, MOST_SHOWN),
    );
    const shown = new Set(orders.flat());
    const others = { ...this.#others, arrival: new Series(2) };
    others.arrival.merge(this.#others.arrival);
    for (const { target } of all.filter((one) => !shown.has(one))) {
      others.arrival.merge(target.arrival);
      others.reordered += target.reordered;
    }
    const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);
    return {
      total: this.#names.size,
      rows: all
        .filter((one) => shown.has(one))
        .sort((a, b) => b.p99 - a.p99)
        .map(({ target: { name, arrival, reordered }, lost }) => ({
          name,
          arrival: briefOf(arrival),
          reordered,
          lost,
        })),
      others:
        shown.size === this.#names.size
          ? null
          : {
              targets: this.#names.size - shown.size,
              arrival: briefOf(others.arrival),
              reordered: others.reordered,
              lost: sum(lost.values()) - sum([...shown].map((one) => one.lost)),
            },
    };
  }
}
