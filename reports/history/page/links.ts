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

/** The first one is the baseline. */
export function compareOf(directories: readonly string[]): string {
  return `/compare?${directories.map((directory) => `run=${at(directory)}`).join('&')}`;
}

export interface Filter {
  text: string;
  label: string;
}

export function listOf({ text, label }: Filter, limit: number): string {
  const query = new URLSearchParams({ text, limit: String(limit), ...(label === '' ? {} : { label }) });
  return `/api/runs?${query}`;
}
