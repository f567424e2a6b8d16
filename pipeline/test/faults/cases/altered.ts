import { decodeFrame, packFrames, unpackFrames } from '../../../queue/frame.ts';
import type { Case } from '../case.ts';
import type { Rig } from '../rig.ts';
import { until } from '../until.ts';

const STREAM = 'arrival:messages';
const KINDS = [
  (body: string) => body.slice(0, -8),
  (body: string) => body.replace('"payload":"x', '"payload":"y'),
  (body: string) => `\u0001\u0002${body}`,
];

/** Alters every third message that waits in the queue and no relay has. @returns how many */
function alterWaiting(rig: Rig): Promise<number> {
  return rig.inRedis(async (redis) => {
    const held = new Set(
      ((await redis.xpending(STREAM, 'relays', '-', '+', 10_000)) as [string][]).map(([id]) => id),
    );
    const entries = await redis.xrangeBuffer(STREAM, '-', '+');
    let n = 0;
    let altered = 0;
    const write = redis.multi();
    for (const [id, fields] of entries) {
      if (held.has(id.toString())) continue;
      const messages = unpackFrames(fields[1] as Buffer).map((frame) => {
        const { target, stamps, body } = decodeFrame(frame);
        const whole = body.toString();
        const at = n++;
        const alter = at % 3 === 0 ? KINDS[(at / 3) % 3] : undefined;
        if (alter === undefined) return { target, stamps, body: whole };
        altered++;
        return { target, stamps, body: alter(whole) };
      });
      write.xdel(STREAM, id.toString());
      for (const packed of packFrames(messages)) write.xadd(STREAM, '*', 'frame', packed);
    }
    await write.exec();
    return altered;
  });
}

/** Rows in which messages arrive with other content than was sent. */
export const alteredCases: Case[] = [
  {
    row: 38,
    fault: 'every third waiting message altered in the queue: cut, changed or prefixed',
    expected: 'exactly these are counted as altered; the run fails',
    async play(scene) {
      const rig = await scene.rig();
      for (const relay of rig.relays) relay.signal('SIGSTOP');
      const load = await scene.load(rig, { idle: '5s', verify: 1, fill: 64 }, 6);
      await until(async () => (await rig.depth()) > 1000, 'messages wait');
      const altered = (await scene.harm(() => alterWaiting(rig))) ?? 0;
      for (const relay of rig.relays) relay.signal('SIGCONT');
      const run = await scene.settle(load, 'altered');
      scene.checks
        .atLeast('altered in the queue', altered, 100)
        .same('altered', run.account.altered ?? 0, altered)
        .verdict(run, ['fail', 'invalid'], /altered/);
      return run;
    },
  },
];
