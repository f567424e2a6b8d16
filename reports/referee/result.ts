/** What `npm run referee` leaves in referee.json: what each load generator said, and what was true. */

/** Referee is the whole of referee.json. */
export interface Referee {
  schema: typeof SCHEMA;
  /** ISO 8601. */
  started: string;
  machine: { cpu: string; cores: number; kernel: string };
  load: { rate: number; connections: number; seconds: number; repeats: number };
  truths: Truth[];
  tools: ToolEntry[];
  runs: RefereeRun[];
  /** One of each tool and truth that has a run that was used. */
  cells: Cell[];
}

export const SCHEMA = 'arrival/referee/1';

/** Truth is a behaviour of the server. */
export interface Truth {
  name: string;
  title: string;
  about: string;
  /** The latency from due of a load without fault, worked out from the schedule. */
  due: Quantiles;
}

export const PERCENTILES = ['p50', 'p90', 'p99', 'p999', 'max'] as const;
export type Percentile = (typeof PERCENTILES)[number];

/** Quantiles is a distribution, in ms. */
export interface Quantiles extends Record<`${Percentile}_ms`, number> {
  count: number;
  /** Quantile (0 to 1) and ms, ascending. */
  curve: [quantile: number, ms: number][];
}

/** Model says what starts a request: the clock, the answer before it, or both (a closed loop held to a rate). */
export type Model = 'open' | 'closed' | 'paced';

export interface ToolEntry {
  name: string;
  title: string;
  /** null: not installed. */
  version: string | null;
  model: Model;
  /** One sentence: what its figures leave out. */
  why: string;
  /** The command that installs it. */
  install: string;
  /** The project's own sender. */
  own?: boolean;
}

/** Figures are what a tool says of itself; what it does not say is missing. */
export interface Figures extends Partial<Record<`${Percentile}_ms`, number>> {
  requests: { asked?: number; begun?: number; done?: number; failed?: number };
  /** From the moment a request is sent, where a tool reports that beside the others. */
  sent?: Partial<Record<`${Percentile}_ms`, number>>;
  /** What it says about not keeping up, as it says it. */
  said: string[];
}

/** Requests are counted by the server. */
export interface Requests {
  begun: number;
  answered: number;
  reset: number;
  lost: number;
  refused_connections: number;
  connections: number;
  /** Answers whose time is not by two kernel stamps. */
  unstamped?: number;
}

/** Gaps are between the requests that came in; `late` is against an even schedule from the first one, and below 0 for what is early. */
export interface Gaps {
  median_ms: number;
  p99_ms: number;
  max_ms: number;
  late_p99_ms: number;
}

export interface RefereeRun {
  tool: string;
  truth: string;
  /** From 1. */
  repeat: number;
  command: string;
  /** ISO 8601. */
  started: string;
  reported: Figures;
  /** First byte of a request in to last byte of its answer out, by kernel stamps. */
  served: Quantiles;
  requests: Requests;
  gaps: Gaps;
  /** CPU time of the tool a request. */
  cpu_us: number | null;
  /** Shares of the host's time, 0 to 1. */
  host: { busy: number; steal: number };
  used: boolean;
  /** Why it is not used. */
  why_not?: string;
}

/** Factors are reported / true: 1 is right, 0.1 a tenth of the truth. */
export type Factors = Partial<Record<Percentile, number>>;

/** Cell is what came out for a tool and a truth, over the runs that are used. */
export interface Cell {
  tool: string;
  truth: string;
  /** Runs used. */
  runs: number;
  due: Factors;
  served: Factors;
  /** The least and the largest due.p99 of repeats. */
  low?: number;
  high?: number;
}
