import type { ComponentChildren } from 'preact';
import type { Run } from '../../contract/run.ts';
import { count, local } from '../../format.ts';
import type { PartProps } from '../part.ts';
import { Facts } from '../table.tsx';
import { Downloads } from './downloads.tsx';
import { Glossary } from './glossary.tsx';
import { Profile } from './profile.tsx';

/** The setting of the run: machine, planned load, command, files, and a glossary of the page. */
export function SetupSection({ run, held }: PartProps & { held: Run }) {
  const pipeline = facts(run.environment.pipeline ?? {});
  return (
    <section id="setup">
      <details class="setup">
        <summary>
          <h2>Setup</h2> <span class="small">machine, pipeline, profile, command, downloads, glossary</span>
        </summary>
        <h3>Environment</h3>
        <Facts facts={environment(run.environment)} />
        {pipeline.length > 0 && (
          <div class="pipeline">
            <h3>Pipeline</h3>
            <Facts facts={pipeline} />
          </div>
        )}
        <Profile run={run} />
        <h3>Run it again</h3>
        <pre>{run.run.command ?? 'The command is not known.'}</pre>
        <Downloads run={held} />
        <Glossary />
      </details>
    </section>
  );
}

/** The sources of the page. */
export function Footer({ run }: { run: Run }) {
  return (
    <footer>
      <p>
        Run {run.run.id} · {run.environment.arrival && `Arrival ${run.environment.arrival} · `}
        {run.schema} · all figures are in run.json beside this page
      </p>
    </footer>
  );
}

type Environment = PartProps['run']['environment'];

function environment(compact: Environment): [string, ComponentChildren][] {
  const {
    cpu,
    cores,
    memory_mb,
    kernel,
    os,
    go,
    arrival: _,
    shared_host,
    pipeline: _pipeline,
    git,
    ci,
    ...further
  } = compact;
  const known: [string, string | null | undefined][] = [
    ['processor', cpu],
    ['cores', cores === null ? null : count(cores)],
    ['memory', memory_mb == null ? null : `${count(memory_mb)} MB`],
    ['system', [os, kernel].filter((part) => part != null).join(' ') || null],
    ['built with', go],
    ['pipeline', shared_host === null ? null : shared_host ? 'on the same host' : 'on other hosts'],
  ];
  return [
    ...known.map(([name, value]): [string, string] => [name, value ?? 'not available']),
    ...facts(further),
    ...cameFrom(git, ci),
  ];
}

function cameFrom(git: Environment['git'], ci: Environment['ci']): [string, ComponentChildren][] {
  const all: [string, ComponentChildren][] = [];
  if (git) all.push(['commit', `${git.commit}${git.dirty ? ', with uncommitted changes' : ''}`]);
  if (git?.branch) all.push(['branch', git.branch]);
  if (ci) {
    const words = [ci.name, ci.job].filter((part) => part !== null).join(': ');
    const linked = /^https?:/.test(ci.url ?? ''); // anything else may be a script
    all.push(['CI job', linked ? <a href={ci.url ?? ''}>{words}</a> : words]);
  }
  return all;
}

/** Names and values as the run has them. */
function facts(compact: Record<string, unknown>): [string, string][] {
  return Object.entries(compact).map(([name, value]) => [
    name.replaceAll('_', ' '),
    typeof value === 'number'
      ? local(value, { maximumFractionDigits: 3 })
      : value === null
        ? 'not available'
        : typeof value === 'boolean'
          ? value
            ? 'yes'
            : 'no'
          : String(value),
  ]);
}
