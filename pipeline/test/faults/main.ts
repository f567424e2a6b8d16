import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { moment, newDirectory, RUNS } from '../../../reports/directory.ts';
import { duration, plain } from '../../../reports/format.ts';
import { ConfigError } from '../../shared/config.ts';
import { numberOf, readFlags } from '../../shared/flags.ts';
import { printFolded } from '../../shared/fold.ts';
import { exitAfter } from '../../stack/explain.ts';
import { shortPath } from '../../stack/file.ts';
import { INTERRUPTED, onInterrupt } from '../../stack/interrupt.ts';
import { buildToxiproxy } from '../toxiproxy.ts';
import { CASES, equation, markdown, play, type Result, seen } from './campaign.ts';
import type { Case, Scale } from './case.ts';

const HELP = `Injects the faults of its table into a running pipeline under load, and checks the account of every message.

  npm run faults [-- <flags>]

  --list            the cases, without running them
  --only 7,9        only these rows
  --rate 4000       messages/s of a load
  --messages 50000  a case has at least so many messages
  --without-faults  injects nothing: each row has to fail then, which shows that it checks its fault

About 11 minutes. Each case has its own pipeline on free ports. The exit code is 0 when everything was as expected, else 1.
It writes the table to reports/runs/faults-<time>/, with logs and run of each case that was not as expected.
`;

async function main(): Promise<number> {
  const { values } = readFlags(process.argv.slice(2), {
    list: { type: 'boolean' },
    only: { type: 'string' },
    rate: { type: 'string', default: '4000' },
    messages: { type: 'string', default: '50000' },
    'without-faults': { type: 'boolean', default: false },
  });
  if (values.help) {
    printFolded(HELP);
    return 0;
  }
  const cases = chosen(values.only);
  if (values.list) {
    for (const { row, fault, expected } of cases)
      console.log(`${String(row).padStart(3)}  ${fault}\n     ${expected}`);
    return 0;
  }
  const scale: Scale = {
    rate: numberOf('rate', values.rate, { least: 100, most: 50_000 }),
    messages: numberOf('messages', values.messages, { least: 100, most: 10_000_000 }),
    outage: 30,
    flood: 60,
  };

  const interruption = Promise.withResolvers<never>();
  interruption.promise.catch(() => {});
  let interrupted = false;
  onInterrupt(
    () => {
      interrupted = true;
      interruption.reject(new Error('interrupted'));
    },
    () => process.exit(INTERRUPTED),
  );

  const harmless = values['without-faults'];
  const good = (result: Result) => result.ok !== harmless;
  await buildToxiproxy();
  const dir = newDirectory(join(RUNS, `faults-${moment()}`));
  const results: Result[] = [];
  for (const one of cases) {
    const place = `${results.length + 1} of ${cases.length}`;
    if (process.stdout.isTTY) process.stdout.write(`${place}  ${one.fault} …`);
    const result = await play(one, scale, dir, interruption.promise, harmless);
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
    if (interrupted) break;
    results.push(result);
    print(result, good(result));
    if (harmless) continue;
    await writeFile(join(dir, 'campaign.json'), `${JSON.stringify({ scale, results }, null, 2)}\n`);
    await writeFile(join(dir, 'campaign.md'), markdown(results, scale));
  }
  if (results.length === 0 || harmless) await rm(dir, { recursive: true });
  const failed = results.filter((result) => !good(result));
  const rest = cases.length - results.length;
  console.log(
    `\n${results.length - failed.length} of ${results.length} ${harmless ? 'fail without their fault, as they have to' : 'as expected'}${rest > 0 ? `, ${rest} not played` : ''}`,
  );
  if (results.length > 0 && !harmless) console.log(`table  ${shortPath(join(dir, 'campaign.md'))}`);
  if (interrupted) return INTERRUPTED;
  return failed.length === 0 ? 0 : 1;
}

function print(result: Result, good: boolean): void {
  const { row, fault, account, seconds } = result;
  console.log(
    `${good ? 'ok  ' : 'FAIL'} ${String(row).padStart(2)}  ${fault}  ${plain(duration(Math.round(seconds)))}`,
  );
  console.log(`         ${seen(result)}`);
  if (account !== null) console.log(`         ${equation(account)}`);
}

function chosen(only: string | undefined): readonly Case[] {
  if (only === undefined) return CASES;
  const rows = only.split(',').map((text) => text.trim());
  const unknown = rows.find((row) => !CASES.some((one) => String(one.row) === row));
  if (unknown !== undefined) {
    throw new ConfigError(
      `--only: there is no row ${unknown}; allowed: ${CASES.map(({ row }) => row).join(',')}`,
    );
  }
  return CASES.filter(({ row }) => rows.includes(String(row)));
}

exitAfter(main());
