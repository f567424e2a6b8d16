import { Clock } from '../common/clock.ts';
import { queueOptions, type StackConfig } from '../common/config.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { Store } from '../queue/store.ts';
import { BrokerSys } from './broker-sys.ts';
import { startStackTelemetry } from './telemetry.ts';

export interface Watched {
  config: StackConfig;
  redisUrl: string;
  mqttUrl: string;
  /** Pids, by the name in the telemetry stream. */
  servers: Record<string, number>;
  readyMs: number;
}

/**
 * Connects the stack to its servers, and reports what they use once a second.
 * @param undo gets what closes it, also when it fails halfway
 */
export async function watch(
  { config, redisUrl, mqttUrl, servers, readyMs }: Watched,
  undo: (() => void | Promise<void>)[],
): Promise<{ queue: MessageQueue; store: Store; broker: BrokerSys }> {
  const options = { url: redisUrl, ...queueOptions(config), timeoutMs: readyMs };
  const store = new Store(options);
  const queue = openQueue(config.QUEUE, options, store);
  undo.push(() => {
    queue.close();
    store.close();
  });
  await queue.whenReady(readyMs);
  const clock = new Clock(() => store.time());
  await clock.start();
  undo.push(() => clock.stop());
  const broker = new BrokerSys(mqttUrl);
  undo.push(() => broker.close());
  undo.push(startStackTelemetry({ store, queue, clock, servers, broker }));
  return { queue, store, broker };
}
