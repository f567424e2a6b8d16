import type { TelemetryData } from '../common/telemetry.ts';

const MB = 1e6;

/** A field of Redis' INFO, or undefined. */
export function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** Figures from Redis' INFO, without fields that this Redis does not report. */
export function redisFigures(info: string): Required<Pick<TelemetryData, 'gauges' | 'counters'>> {
  const number = (name: string) => {
    const text = field(info, name);
    return text === undefined ? undefined : Number(text);
  };
  const mb = (name: string) => {
    const bytes = number(name);
    return bytes === undefined ? undefined : bytes / MB;
  };
  const keys = [...info.matchAll(/^db\d+:keys=(\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  return {
    gauges: reported({
      used_memory_mb: mb('used_memory'),
      ops_per_s: number('instantaneous_ops_per_sec'),
      clients: number('connected_clients'),
      blocked_clients: number('blocked_clients'),
      keys,
      aof_mb: mb('aof_current_size'),
    }),
    counters: reported({
      commands: number('total_commands_processed'),
      evicted_keys: number('evicted_keys'),
      aof_delayed_fsync: number('aof_delayed_fsync'),
      rejected_connections: number('rejected_connections'),
    }),
  };
}

function reported(figures: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}
