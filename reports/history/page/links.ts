/** Where things are on this server. */
const at = encodeURIComponent;

export function reportOf(directory: string): string {
  return `/runs/${at(directory)}/index.html`;
}

export function liveOf(directory: string): string {
  return `/live/${at(directory)}`;
}

export function eventsOf(directory: string): string {
  return `/api/runs/${at(directory)}/live`;
}

/**
 * The first one is the baseline.
 * @param allowFailed also where messages of them failed
 */
export function compareOf(directories: readonly string[], allowFailed = false): string {
  const runs = directories.map((directory) => `run=${at(directory)}`).join('&');
  return `/compare?${runs}${allowFailed ? '&allow-failed=true' : ''}`;
}

export interface Filter {
  text: string;
  label: string;
}

export function listOf({ text, label }: Filter, limit: number): string {
  const query = new URLSearchParams({ text, limit: String(limit), ...(label === '' ? {} : { label }) });
  return `/api/runs?${query}`;
}
