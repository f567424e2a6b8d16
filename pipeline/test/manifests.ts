import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The binary of pipeline/deploy/check. */
export const CHECK = join(import.meta.dirname, '../../.stack/deploy-check');

interface Probe {
  httpGet?: { path: string; port: string };
  tcpSocket?: { port: string };
}
interface Container {
  name: string;
  image: string;
  args?: string[];
  command?: string[];
  ports: { name: string; containerPort: number }[];
  securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean };
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  resources: { requests?: Record<string, string>; limits?: Record<string, string> };
  env?: { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  volumeMounts?: { name: string; mountPath: string }[];
  lifecycle?: { preStop: { sleep: { seconds: number } } };
}
interface Template {
  metadata: { labels: Record<string, string> };
  spec: {
    containers: Container[];
    enableServiceLinks?: boolean;
    securityContext: { runAsNonRoot: boolean };
    terminationGracePeriodSeconds?: number;
    volumes?: { name: string; secret?: { secretName: string } }[];
  };
}
interface JobSpec {
  completionMode: string;
  completions: number;
  parallelism: number;
  backoffLimitPerIndex: number;
  ttlSecondsAfterFinished: number;
  template: Template;
}
export interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    template?: Template;
    suspend?: boolean;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate?: { spec: JobSpec };
    replicas?: number;
    scaleTargetRef?: { kind: string; name: string };
    minReplicas?: number;
    maxReplicas?: number;
    metrics?: object[];
    maxUnavailable?: number;
    selector?: { matchLabels?: Record<string, string> } & Record<string, unknown>;
    parallelism?: number;
    arguments?: string;
    script?: { localFile: string };
    initializer?: { env?: { name: string; value: string }[] };
    ports?: { name: string; port: number }[];
    runner?: { image: string };
  };
}

/** The output of pipeline/deploy/check for Compose files or kustomizations. */
export async function understood<T>(...args: string[]): Promise<T[]> {
  const { stdout } = await promisify(execFile)(CHECK, args, { maxBuffer: 1e8 });
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
}

/** The objects of a kustomization, with common queries. */
export async function manifests(kustomization: string) {
  const all = await understood<Manifest>('kubernetes', kustomization);
  const of = (kind: string) => all.filter((one) => one.kind === kind);
  const named = (kind: string, name: string) => {
    const found = of(kind).find(({ metadata }) => metadata.name === name);
    assert.ok(found, `${kind} ${name}`);
    return found.spec;
  };
  const workloads = all.flatMap(({ metadata, spec }) => {
    const { template } = spec ?? {};
    const [container, ...others] = template?.spec.containers ?? [];
    assert.equal(others.length, 0);
    return template && container
      ? [{ name: metadata.name, labels: template.metadata.labels, pod: template.spec, container }]
      : [];
  });
  return { all, of, named, workloads };
}
