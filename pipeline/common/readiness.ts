/** A process says here whether it can do its work, and why not. */

/**
 * The kind of a problem decides what it means for readiness.
 *
 * `starting`, `stopping`, `misconfigured`: this process cannot work, and others may. `/readyz` answers 503: its Service leaves
 * it out, and a roll-out waits for it.
 *
 * `shared`: a server is away, or a limit is reached, for all processes alike. `/readyz` answers 200 and names it. If all left
 * the Service at once, clients would find nobody, instead of a 503 that says when to try again.
 */
export const PROBLEM_KINDS = ['starting', 'stopping', 'misconfigured', 'shared'] as const;

/** Why a process cannot do its work now. */
export interface Problem {
  /** The problem in a few words. */
  problem: string;
  kind: (typeof PROBLEM_KINDS)[number];
}

/** Says whether a process can do its work now, with the facts behind that. */
export interface Readiness {
  /** The weightiest first; none: it works. */
  problems: readonly Problem[];
  facts?: Record<string, string | number | boolean>;
}

/** The problem of a process that has got a signal to end. */
export const STOPPING: Problem = { problem: 'it is stopping', kind: 'stopping' };
