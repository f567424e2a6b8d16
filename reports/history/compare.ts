/** The comparison that the server shows. */
import { compare, FailedRunsError } from '../comparison/compare.ts';
import { renderComparison } from '../comparison/page.ts';
import { readRecording } from '../comparison/recording.ts';

export interface Asked {
  /** The place of a run as a reader may see it: a path of this host is nobody's business. */
  name: string;
  directory: string;
  /** The address of its report. */
  page: string;
}

/** @returns the page; or, if messages of runs failed and that is not allowed, their accounts */
export async function compareAside(
  runs: readonly Asked[],
  allowFailed: boolean,
  template: string,
): Promise<{ html: string } | { failed: string[] }> {
  const read = async ({ directory, name, page }: Asked) => ({
    ...(await readRecording(directory, name)),
    page,
  });
  try {
    return { html: renderComparison(compare(await Promise.all(runs.map(read)), { allowFailed }), template) };
  } catch (error) {
    if (error instanceof FailedRunsError) return { failed: [...error.accounts] };
    throw error;
  }
}
